import { accountEventDays } from '../contract/events'
import {
  maxPasskeys,
  noticedSecondFactorFailures as wrongCodes,
} from '../contract/lifetimes'
import { writeLifetimes } from './durations'
import type { Texts } from './en'

const durations = writeLifetimes('de', {
  60: 'eine Minute',
  [20 * 60]: '20 Minuten',
  [60 * 60]: '1 Stunde',
  [7 * 24 * 60 * 60]: '7 Tage',
})

export const de = (app: string, passwordMinLength: number): Texts => ({
  language: 'de',
  direction: 'ltr',
  app,
  shared: {
    requestId: 'Referenznummer für den Support:',
    copy: 'Kopieren',
    copied: 'Kopiert',
    errorPrefix: 'Fehler: ',
    tryAgain: 'Erneut versuchen',
    waiting: 'Sie können es {when} erneut versuchen.',
    waitingForNetwork: 'Sie können es erneut versuchen, sobald Sie online sind.',
    waited: 'Sie können es jetzt erneut versuchen.',
    offline: {
      title: 'Sie sind offline',
      body: 'Es wurde nichts gesendet, und Ihre Eingabe ist noch da.',
    },
    signIn: 'Anmelden',
    signInAgain: 'Erneut anmelden',
    goOn: 'Weiter',
    home: 'Zur Startseite',
    noScript: 'Aktivieren Sie JavaScript, um fortzufahren',
    notLoaded: 'Die Seite wurde nicht vollständig geladen',
    updated: {
      title: 'Diese Seite wurde aktualisiert',
      body: 'Laden Sie sie neu, um fortzufahren.',
      reload: 'Seite neu laden',
    },
  },
  footer: {
    help: 'Hilfe',
    privacy: 'Datenschutz',
    terms: 'Nutzungsbedingungen',
    language: 'Sprache',
  },
  home: {
    signedIn: 'Sie sind angemeldet',
    as: 'Angemeldet als',
    until: 'Angemeldet bis',
    open: `${app} öffnen`,
    signOut: 'Abmelden',
    signedOut: 'Sie sind nicht angemeldet',
    justSignedOut: 'Sie wurden abgemeldet',
    signedOutBody: `Melden Sie sich an, um ${app} zu nutzen.`,
    signedOutWithoutLink:
      'Öffnen Sie die Seite, auf der Sie sich normalerweise anmelden.',
    forgotPassword: 'Passwort vergessen?',
  },
  signIn: {
    title: `Bei ${app} anmelden`,
    body: 'Mit Ihrer dienstlichen Adresse melden Sie sich bei Ihrer Organisation an.',
    label: 'E‑Mail-Adresse',
    submit: 'Weiter',
    with: 'Weiter mit {name}',
    or: 'oder',
    invalidEmail: 'Geben Sie eine E‑Mail-Adresse ein, zum Beispiel name@example.com.',
    unknownEmail:
      'Mit dieser E‑Mail-Adresse ist keine Anmeldung möglich. Prüfen Sie die Adresse oder wenden Sie sich an Ihre IT-Abteilung.',
    mailLink: 'Link zur Anmeldung per E‑Mail erhalten',
    going: 'Sie werden zu Ihrer Organisation weitergeleitet',
    goingBody: 'Melden Sie sich mit {name} an. Danach werden Sie hierher zurückgeleitet.',
    password: 'Passwort',
    usePassword: 'Mit Passwort anmelden',
    passwordTitle: 'Passwort eingeben',
    change: 'Ändern',
    changeLabel: 'E‑Mail-Adresse ändern',
    forgotPassword: 'Passwort vergessen?',
    early: 'Wird geladen … Die Anmeldung geht weiter, sobald diese Seite bereit ist.',
    sending: 'Sie werden angemeldet',
    slow: 'Die Anmeldung läuft noch. Lassen Sie diese Seite geöffnet.',
    emptyPassword: 'Geben Sie Ihr Passwort ein.',
    another: 'Anderes Konto verwenden',
    wrongPassword:
      'Die E‑Mail-Adresse oder das Passwort ist falsch. Prüfen Sie beides und versuchen Sie es erneut.',
    limited: {
      title: 'Die Anmeldung ist vorübergehend gesperrt',
      body: 'Mit dieser E‑Mail-Adresse oder aus Ihrem Netzwerk gab es zu viele Anmeldeversuche.',
    },
    unavailable: {
      title: 'Die Anmeldung ist gerade nicht möglich',
      body: 'Sie sind nicht angemeldet, und Ihre Eingabe ist noch da.',
    },
    unknown: {
      title: 'Die Verbindung wurde unterbrochen',
      body: 'Wir können nicht feststellen, ob Sie angemeldet sind. Versuchen Sie es erneut.',
    },
    failed: {
      title: 'Anmeldung fehlgeschlagen',
      body: 'Bei uns ist ein Fehler aufgetreten. Versuchen Sie es erneut. Wenn das Problem weiterhin besteht, wenden Sie sich an den Support und nennen Sie die unten stehende Referenznummer.',
    },
  },
  notFound: {
    title: 'Seite nicht gefunden',
    body: 'Wenn Sie die Webadresse eingegeben haben, prüfen Sie, ob sie stimmt. Wenn Sie einem Link gefolgt sind, ist er möglicherweise unvollständig oder veraltet.',
  },
  rateLimitedPage: {
    title: 'Zu viele Anfragen aus Ihrem Netzwerk',
    body: 'Sie können diese Seite {when} erneut öffnen. Es ist nichts verloren gegangen.',
    reload: 'Seite erneut öffnen',
  },
  longUrlPage: {
    title: 'Die Webadresse ist zu lang',
    body: 'Möglicherweise hat der Anmeldedienst Ihrer Organisation zu viel angehängt. Melden Sie sich erneut an. Wenn es wieder passiert, informieren Sie Ihre Administration.',
  },
  authorizePage: {
    title: 'Diese Anmeldung kann nicht beginnen',
    body: 'Die Anwendung, von der Sie kommen, ist nicht dafür eingerichtet. Gehen Sie zurück und versuchen Sie es erneut. Wenn es wieder passiert, informieren Sie deren Support.',
  },
  singleLogoutPage: {
    title: `Sie wurden nicht von ${app} abgemeldet`,
    body: `Der Anmeldedienst Ihrer Organisation wollte Sie abmelden, aber ${app} unterstützt das nicht. Wenn Sie hier angemeldet waren, sind Sie es weiterhin.`,
  },
  signOutPage: {
    title: 'Möchten Sie sich abmelden?',
    body: 'Sie sind als {email} angemeldet. Sie werden auch bei den Anwendungen abgemeldet, die Sie in diesem Browser mit diesem Konto geöffnet haben.',
    stay: 'Angemeldet bleiben',
  },
  unavailablePage: {
    title: 'Diese Seite ist gerade nicht verfügbar',
    body: 'Es ist nichts verloren gegangen. Warten Sie ein paar Sekunden und öffnen Sie diese Seite dann erneut.',
  },
  error: {
    title: 'Etwas ist schiefgegangen',
    body: 'Der Fehler liegt bei uns, nicht bei Ihnen. Versuchen Sie es in Kürze erneut.',
  },
  sso: {
    noScript:
      'Diese Seite benötigt JavaScript. Aktivieren Sie es in den Einstellungen Ihres Browsers und melden Sie sich dann erneut an.',
    notLoaded:
      'Ein Teil der Seite fehlt. Prüfen Sie Ihre Verbindung und melden Sie sich dann erneut an.',
    working: 'Sie werden angemeldet',
    workingBody: 'Das dauert einen Moment.',
    slow: 'Die Anmeldung läuft noch. Lassen Sie diese Seite geöffnet.',
    done: 'Sie sind angemeldet',
    doneBody: `Sie werden zu ${app} weitergeleitet.`,
    already: {
      title: 'Sie sind bereits angemeldet',
      body: `Sie sind als {email} angemeldet und werden zu ${app} weitergeleitet.`,
    },
    used: {
      title: 'Dieser Anmeldevorgang ist nicht gültig',
      body: `Jeder Anmeldevorgang ist nur einmal, nur ${durations.code} lang und nur in dem Browser gültig, in dem Sie ihn begonnen haben. Mit Ihrem Konto ist alles in Ordnung. Wenn Sie bereits angemeldet sind, wählen Sie „Weiter“. Andernfalls melden Sie sich erneut an.`,
    },
    noCode: {
      title: 'Wir konnten Ihre Anmeldung nicht finden',
      body: 'Diese Seite ist nur ein Zwischenschritt direkt nach der Anmeldung bei Ihrer Organisation. Wenn Sie bereits angemeldet sind, wählen Sie „Weiter“. Andernfalls melden Sie sich erneut an.',
    },
    limited: {
      title: 'Zu viele Anfragen aus Ihrem Netzwerk',
      body: 'Aus Ihrem Netzwerk kamen zu viele Anmeldungen. Sie sind noch nicht angemeldet.',
    },
    limitedLong: {
      title: 'Zu viele Anfragen aus Ihrem Netzwerk',
      body: 'Aus Ihrem Netzwerk kamen zu viele Anmeldungen. Sie sind noch nicht angemeldet. Sie können sich {when} erneut anmelden.',
    },
    unavailable: {
      title: 'Die Anmeldung ist gerade nicht möglich',
      body: 'Wir konnten Ihre Anmeldung nicht abschließen. Es ist nichts verloren gegangen, und mit Ihrem Konto ist alles in Ordnung.',
    },
    offline: {
      title: 'Sie sind offline',
      body: `Es wurde nichts gesendet. Stellen Sie die Verbindung wieder her und versuchen Sie es erneut. Dafür haben Sie ${durations.code} Zeit, danach müssen Sie sich erneut anmelden.`,
    },
    unknown: {
      title: 'Die Verbindung wurde unterbrochen',
      body: 'Wir können nicht feststellen, ob Sie angemeldet sind. Wählen Sie „Weiter“, um es zu prüfen.',
    },
    failed: {
      title: 'Anmeldung fehlgeschlagen',
      body: 'Bei uns ist ein Fehler aufgetreten. Melden Sie sich erneut an. Wenn das Problem weiterhin besteht, wenden Sie sich an den Support und nennen Sie die unten stehende Referenznummer.',
    },
    gaveUp: {
      title: 'Die Anmeldung funktioniert weiterhin nicht',
      body: 'Wir konnten Ihre Anmeldung nicht abschließen. Warten Sie ein paar Minuten und melden Sie sich dann erneut an.',
    },
    rejected: {
      access_denied: {
        title: 'Sie wurden nicht angemeldet',
        body: `Entweder haben Sie die Anmeldung abgebrochen, oder Ihre Organisation erlaubt Ihnen die Nutzung von ${app} nicht. Versuchen Sie es erneut oder bitten Sie Ihre IT-Abteilung um Zugang.`,
      },
      login_required: {
        title: 'Melden Sie sich erneut bei Ihrer Organisation an',
        body: 'Sie wurden dort abgemeldet. Melden Sie sich erneut an, um fortzufahren.',
      },
      temporarily_unavailable: {
        title: 'Der Anmeldedienst Ihrer Organisation ist nicht verfügbar',
        body: 'Dort kann sich gerade niemand anmelden. Warten Sie ein paar Minuten und melden Sie sich dann erneut an.',
      },
      server_error: {
        title: 'Beim Anmeldedienst Ihrer Organisation ist ein Fehler aufgetreten',
        body: 'Sie wurden nicht angemeldet. Melden Sie sich erneut an. Wenn das Problem weiterhin besteht, wenden Sie sich an Ihre IT-Abteilung.',
      },
      attempt_invalid: {
        title: 'Dieser Anmeldevorgang kann nicht fortgesetzt werden',
        body: `Jeder Anmeldevorgang ist nur einmal, nur ${durations.signIn} lang und nur in dem Browser gültig, in dem Sie ihn begonnen haben. Mit Ihrem Konto ist alles in Ordnung. Melden Sie sich erneut an.`,
      },
      response_invalid: {
        title: 'Wir konnten Ihre Anmeldung nicht überprüfen',
        body: 'Die Antwort des Anmeldedienstes Ihrer Organisation war ungültig, daher haben wir sie nicht verwendet. Melden Sie sich erneut an. Wenn das Problem weiterhin besteht, wenden Sie sich an Ihre IT-Abteilung.',
      },
      no_access: {
        title: `Sie haben keinen Zugang zu ${app}`,
        body: `Ihre Organisation hat Sie angemeldet, aber mit Ihrem Konto können Sie ${app} nicht nutzen. Melden Sie sich erneut an, um ein anderes Konto zu wählen, oder bitten Sie Ihre IT-Abteilung um Zugang.`,
        as: `Ihre Organisation hat Sie als {email} angemeldet. Mit diesem Konto können Sie ${app} nicht nutzen. Melden Sie sich erneut an, um ein anderes Konto zu wählen, oder bitten Sie Ihre IT-Abteilung um Zugang.`,
        elsewhere: 'Auf andere Weise anmelden',
      },
      connection_unavailable: {
        title: 'Diese Anmeldemethode ist nicht verfügbar',
        body: 'Möglicherweise wurde sie deaktiviert. Melden Sie sich auf andere Weise an oder wenden Sie sich an Ihre IT-Abteilung.',
      },
      unavailable: {
        title: 'Die Anmeldung ist gerade nicht möglich',
        body: 'Wir konnten Ihre Anmeldung nicht abschließen. Es ist nichts verloren gegangen, und mit Ihrem Konto ist alles in Ordnung. Warten Sie ein paar Minuten und melden Sie sich dann erneut an.',
      },
      other: {
        title: 'Der Anmeldedienst Ihrer Organisation hat Sie nicht angemeldet',
        body: 'Er hat einen Fehler gemeldet. Melden Sie sich erneut an. Wenn das Problem weiterhin besteht, wenden Sie sich an Ihre IT-Abteilung.',
      },
    },
  },
  passwordField: {
    capsLock: 'Die Feststelltaste ist aktiviert.',
    show: 'Anzeigen',
    hide: 'Ausblenden',
    showLabel: 'Passwort anzeigen',
    hideLabel: 'Passwort ausblenden',
    shown: 'Ihr Passwort ist sichtbar.',
    hidden: 'Ihr Passwort ist ausgeblendet.',
  },
  reset: {
    noScript:
      'Diese Seite benötigt JavaScript. Aktivieren Sie es in den Einstellungen Ihres Browsers und öffnen Sie dann den Link aus unserer E‑Mail erneut.',
    notLoaded:
      'Ein Teil der Seite fehlt, deshalb können Sie noch kein Passwort speichern. Prüfen Sie Ihre Verbindung und öffnen Sie dann den Link aus unserer E‑Mail erneut.',
    early: 'Wird geladen … Ihr Passwort wird gespeichert, sobald diese Seite bereit ist.',
    form: 'Neues Passwort wählen',
    formBody: `Dadurch werden Sie auf allen Ihren Geräten bei ${app} abgemeldet.`,
    label: 'Neues Passwort',
    hint: `Verwenden Sie ${passwordMinLength} bis 72 Zeichen.`,
    tip: 'Tipp: Drei zufällige Wörter ergeben ein starkes Passwort, das Sie sich leicht merken können. Leerzeichen sind erlaubt.',
    account: 'Konto:',
    submit: 'Passwort speichern',
    sending: 'Ihr Passwort wird gespeichert …',
    slow: 'Ihr Passwort wird noch gespeichert. Lassen Sie diese Seite geöffnet.',
    strength: {
      too_short: 'Noch zu kurz',
      too_long: 'Zu lang: höchstens 72 Zeichen',
      invalid_characters: 'Enthält unzulässige Zeichen',
      weak: 'Noch leicht zu erraten',
      good: 'Gut: schwer zu erraten',
      strong: 'Sehr stark',
      rejected: 'Dieses Passwort kann nicht verwendet werden',
    },
    emptyPassword: 'Geben Sie ein neues Passwort ein.',
    issues: {
      too_short: `Das Passwort muss mindestens ${passwordMinLength} Zeichen lang sein.`,
      too_long:
        'Das Passwort darf höchstens 72 Zeichen lang sein. Umlaute, Buchstaben mit Akzent und Emojis zählen als mehrere Zeichen.',
      invalid_characters:
        'Das Passwort darf nur Zeichen enthalten, die sich mit einer Tastatur eingeben lassen.',
      too_guessable: 'Wählen Sie ein Passwort, das schwerer zu erraten ist.',
      breached:
        'Wählen Sie ein anderes Passwort. Dieses ist bereits in einem Datenleck aufgetaucht.',
    },
    personal: `Wählen Sie ein Passwort, das weder den Namen ${app} noch Teile Ihrer E‑Mail-Adresse enthält.`,
    otherIssue: 'Wählen Sie ein anderes Passwort. Dieses kann nicht verwendet werden.',
    done: {
      title: 'Ihr Passwort wurde geändert',
      body: 'Sie wurden überall abgemeldet. Melden Sie sich mit Ihrem neuen Passwort an.',
    },
    stillNeeded: 'Wenn Sie eine Authenticator-App verwenden, brauchen Sie sie weiterhin.',
    passkeysKept: 'Passkeys, die Sie behalten haben, funktionieren weiterhin.',
    removePasskeys: 'Auch alle meine Passkeys entfernen',
    removePasskeysHint:
      'Tun Sie das, wenn jemand anderes Ihr Konto verwendet haben könnte.',
    used: {
      title: 'Dieser Link wurde bereits verwendet',
      body: 'Wenn Sie Ihr Passwort damit geändert haben, melden Sie sich an. Andernfalls fordern Sie einen neuen Link an.',
    },
    expired: {
      title: 'Dieser Link ist abgelaufen',
      body: 'Jeder Link gilt nur für begrenzte Zeit. Fordern Sie einen neuen an, um ein neues Passwort zu wählen.',
    },
    invalid: {
      title: 'Dieser Link ist ungültig',
      body: 'Möglicherweise fehlt ein Teil, oder es wurde ein neuerer Link gesendet. Wählen Sie den Link in der neuesten E‑Mail aus, oder kopieren Sie den ganzen Link in Ihren Browser. Oder fordern Sie einen neuen an.',
    },
    dead: {
      title: 'Dieser Link ist nicht mehr gültig',
      body: 'Jeder Link gilt nur einmal und nur für begrenzte Zeit. Nur der neueste Link ist gültig. Wenn Sie Ihr Passwort mit diesem Link bereits geändert haben, melden Sie sich an.',
    },
    noToken: {
      title: 'Öffnen Sie den Link aus unserer E‑Mail',
      body: 'Um ein neues Passwort zu wählen, öffnen Sie den Link in der E‑Mail, die wir Ihnen gesendet haben. Wenn Sie über „Im Browser öffnen“ hierhergekommen sind, ging der Link verloren: Kopieren Sie ihn aus der E‑Mail in Ihren Browser.',
    },
    newLink: 'Neuen Link anfordern',
    newLinkWithoutPlace:
      'Einen neuen Link erhalten Sie über „Passwort vergessen“ auf der Seite, auf der Sie sich normalerweise anmelden.',
    limited: {
      title: 'Zu viele Anfragen aus Ihrem Netzwerk',
      body: 'Ihr Passwort wurde nicht geändert, und Ihre Eingabe ist noch da.',
    },
    unavailable: {
      title: 'Wir können Ihr Passwort gerade nicht speichern',
      body: 'Ihr Passwort wurde nicht geändert. Ihr Link wurde nicht verwendet, und Ihre Eingabe ist noch da.',
    },
    unknown: {
      title: 'Die Verbindung wurde unterbrochen',
      body: 'Wir können nicht feststellen, ob Ihr Passwort geändert wurde. Versuchen Sie, sich mit dem neuen Passwort anzumelden. Wenn das nicht funktioniert, fordern Sie einen neuen Link an.',
    },
    failed: {
      title: 'Wir konnten Ihr Passwort nicht ändern',
      body: 'Bei uns ist ein Fehler aufgetreten. Öffnen Sie den Link aus unserer E‑Mail erneut. Wenn das Problem weiterhin besteht, wenden Sie sich an den Support und nennen Sie die unten stehende Referenznummer.',
    },
    gaveUp: {
      title: 'Wir können Ihr Passwort weiterhin nicht speichern',
      body: 'Ihr Passwort wurde nicht geändert, und Ihre Eingabe ist noch da. Sie können den Link aus unserer E‑Mail auch später erneut öffnen, solange er gilt.',
    },
  },
  forgot: {
    title: 'Passwort zurücksetzen',
    body: 'Geben Sie Ihre E‑Mail-Adresse ein. Wir senden Ihnen einen Link.',
    label: 'E‑Mail-Adresse',
    invalidEmail: 'Geben Sie eine E‑Mail-Adresse ein, zum Beispiel name@example.com.',
    submit: 'Link senden',
    sending: 'Link wird gesendet …',
    limited: {
      title: 'Zu viele Anfragen aus Ihrem Netzwerk',
      body: 'Es wurde nichts gesendet, und Ihre Eingabe ist noch da.',
    },
    unavailable: {
      title: 'Wir können gerade keinen Link senden',
      body: 'Es wurde nichts gesendet, und Ihre Eingabe ist noch da.',
    },
    unknown: {
      title: 'Die Verbindung wurde unterbrochen',
      body: 'Wir können nicht feststellen, ob ein Link gesendet wurde. Sehen Sie in Ihr Postfach oder versuchen Sie es erneut.',
    },
    failed: {
      title: 'Wir können gerade keinen Link senden',
      body: 'Bei uns ist ein Fehler aufgetreten. Versuchen Sie es erneut. Wenn das Problem weiterhin besteht, wenden Sie sich an den Support und nennen Sie die unten stehende Referenznummer.',
    },
    sent: {
      title: 'Sehen Sie in Ihr Postfach',
      body: `Wir haben einen Link an {email} gesendet, sofern es dazu ein Konto gibt. Der Link gilt nur einmal und nur ${durations.token} lang. Nur der neueste Link ist gültig.`,
      address: 'die eingegebene Adresse',
      missing:
        'Ist nach einigen Minuten nichts angekommen? Sehen Sie im Spam-Ordner nach, prüfen Sie die E‑Mail-Adresse und fordern Sie den Link dann erneut an.',
      open: '{name} öffnen',
      again: 'Erneut anfordern',
      waiting: 'Sie können den Link {when} erneut anfordern.',
      waited: 'Sie können den Link jetzt erneut anfordern.',
    },
  },
  mail: {
    link: 'Wenn die Schaltfläche nicht funktioniert, kopieren Sie diese Adresse in Ihren Browser:',
    account: 'Konto: {email}',
    device: '{browser} unter {system}',
    reset: {
      subject: `Neues Passwort für ${app} wählen`,
      title: 'Neues Passwort wählen',
      body: `Mit diesem Link können Sie ein neues Passwort für Ihr Konto bei ${app} wählen.`,
      button: 'Neues Passwort wählen',
      expiry: `Der Link gilt nur einmal und ab dem Versand dieser E‑Mail nur ${durations.token} lang. Nur der neueste Link ist gültig.`,
      requested: {
        plain: 'Angefordert am {when}.',
        fromDevice: 'Angefordert am {when} mit {device}.',
      },
      notYou:
        'Waren Sie das nicht? Dann ignorieren Sie diese E‑Mail: Es wurde nichts geändert.',
    },
    signIn: {
      subject: `Bei ${app} über Ihre Organisation anmelden`,
      title: 'Melden Sie sich über Ihre Organisation an',
      body: `Ihr Konto bei ${app} hat kein eigenes Passwort, das zurückgesetzt werden könnte. Melden Sie sich mit dieser Adresse über Ihre Organisation an.`,
      button: 'Anmelden',
      requested: {
        plain: 'Angefordert am {when}.',
        fromDevice: 'Angefordert am {when} mit {device}.',
      },
      notYou:
        'Waren Sie das nicht? Dann ignorieren Sie diese E‑Mail: Es wurde nichts geändert.',
    },
    invitation: {
      subject: `Einladung zu ${app}`,
      title: `Sie sind zu ${app} eingeladen`,
      requested: {
        plain: 'Eingeladen am {when}.',
        fromDevice: 'Eingeladen am {when} mit {device}.',
      },
      notYou: 'Haben Sie das nicht erwartet? Dann ignorieren Sie diese E‑Mail.',
      password: {
        body: `Ihr Konto bei ${app} ist bereit. Wählen Sie mit diesem Link ein Passwort dafür.`,
        button: 'Passwort wählen',
        expiry: `Der Link gilt nur einmal und ab dem Versand dieser E‑Mail nur ${durations.invitation} lang. Nur der neueste Link ist gültig.`,
      },
      sso: {
        body: `Ihr Konto bei ${app} ist bereit. Melden Sie sich mit dieser Adresse über Ihre Organisation an.`,
        button: 'Anmelden',
      },
    },
    changed: {
      subject: `Ihr Passwort für ${app} wurde geändert`,
      title: 'Ihr Passwort wurde geändert',
      body: `Das Passwort Ihres Kontos bei ${app} wurde geändert, und alle anderen Geräte wurden abgemeldet.`,
      button: 'Neuen Link anfordern',
      requested: {
        plain: 'Geändert am {when}.',
        fromDevice: 'Geändert am {when} mit {device}.',
      },
      notYou:
        'Wenn Sie das waren, müssen Sie nichts tun. Wenn nicht, fordern Sie sofort einen neuen Link an und wählen Sie ein anderes Passwort.',
      support:
        'Wenn Sie das nicht waren, kann die andere Person vielleicht Ihre E‑Mails lesen: Ändern Sie auch das Passwort Ihres Postfachs und informieren Sie den Support.',
    },
    newDevice: {
      subject: `Neue Anmeldung bei ${app}`,
      title: 'Neue Anmeldung bei Ihrem Konto',
      body: `Bei Ihrem Konto bei ${app} gab es eine Anmeldung mit Ihrem Passwort, in einem Browser, in dem dieses Passwort bisher nicht verwendet wurde.`,
      button: 'Neues Passwort wählen',
      requested: {
        plain: 'Angemeldet am {when}.',
        fromDevice: 'Angemeldet am {when} mit {device}.',
      },
      notYou:
        'Wenn Sie das waren, müssen Sie nichts tun. Wenn nicht, wählen Sie sofort ein neues Passwort.',
    },
    passkey: {
      button: 'Konto öffnen',
      notYou:
        'Wenn Sie das waren, müssen Sie nichts tun. Wenn nicht, entfernen Sie die Passkeys, die Sie nicht kennen, und wählen Sie sofort ein neues Passwort.',
      support: 'Wenn Sie das nicht erwartet haben, informieren Sie auch den Support.',
      added: {
        subject: `Ein Passkey für ${app} wurde hinzugefügt`,
        title: 'Ein Passkey wurde hinzugefügt',
        body: `Zu Ihrem Konto bei ${app} wurde ein Passkey hinzugefügt. Mit ihm meldet man sich ohne Ihr Passwort an.`,
      },
      removed: {
        subject: `Ein Passkey für ${app} wurde entfernt`,
        title: 'Ein Passkey wurde entfernt',
        body: `Aus Ihrem Konto bei ${app} wurde ein Passkey entfernt. Er meldet niemanden mehr an.`,
      },
      newDevice: {
        subject: `Neue Anmeldung bei ${app}`,
        title: 'Neue Anmeldung bei Ihrem Konto',
        body: `Bei Ihrem Konto bei ${app} gab es eine Anmeldung mit einem Passkey, in einem Browser, in dem er bisher nicht verwendet wurde.`,
      },
    },
    emailChanged: {
      subject: `Die E‑Mail-Adresse Ihres Kontos bei ${app} wurde geändert`,
      title: 'Ihre E‑Mail-Adresse wurde geändert',
      body: `Die E‑Mail-Adresse Ihres Kontos bei ${app} wurde von der Administration geändert. Diese Nachricht geht an die alte und an die neue Adresse.`,
      next: 'Alle Geräte wurden abgemeldet. Melden Sie sich ab jetzt mit der neuen Adresse an.',
      button: 'Anmelden',
      support: 'Wenn Sie das nicht erwartet haben, informieren Sie den Support.',
    },
    operatorSignIn: {
      subject: `Die Administration kann sich bei Ihrem Konto für ${app} anmelden`,
      title: 'Die Administration kann sich in Ihrem Namen anmelden',
      body: `Die Administration hat einen Link erhalten, mit dem sie sich einmal ohne Ihr Passwort bei Ihrem Konto für ${app} anmelden kann.`,
      next: 'Ihre Kontoseite zeigt solche Anmeldungen und kann sie beenden.',
      button: 'Konto öffnen',
      support: 'Wenn Sie das nicht erwartet haben, informieren Sie den Support.',
      requested: {
        plain: 'Das war am {when}.',
        fromDevice: 'Das war am {when} mit {device}.',
      },
    },
    secondFactor: {
      button: 'Neues Passwort wählen',
      notYou:
        'Wenn Sie das waren, müssen Sie nichts tun. Wenn nicht, wählen Sie sofort ein anderes Passwort.',
      support: 'Wenn Sie das nicht erwartet haben, informieren Sie auch den Support.',
      on: {
        subject: `Die Anmeldung bei ${app} verlangt jetzt einen Code`,
        title: 'Ihre Authenticator-App ist eingerichtet',
        body: `Wenn Sie sich bei Ihrem Konto bei ${app} mit dem Passwort anmelden, fragen wir jetzt auch nach einem Code aus Ihrer Authenticator-App. Alle anderen Geräte wurden abgemeldet.`,
      },
      off: {
        subject: `Die Anmeldung bei ${app} verlangt keinen Code mehr`,
        title: 'Ihre Authenticator-App wurde ausgeschaltet',
        body: `Wenn Sie sich bei Ihrem Konto bei ${app} mit dem Passwort anmelden, fragen wir nicht mehr nach einem Code. Alle anderen Geräte wurden abgemeldet.`,
      },
      used: {
        subject: `Ein Wiederherstellungscode für ${app} wurde verwendet`,
        title: 'Ein Wiederherstellungscode wurde verwendet',
        body: `Ihr Passwort und ein Wiederherstellungscode wurden verwendet, um sich bei Ihrem Konto bei ${app} anzumelden. Übrige Wiederherstellungscodes: {left}.`,
      },
      codes: {
        subject: `Neue Wiederherstellungscodes für ${app}`,
        title: 'Sie haben neue Wiederherstellungscodes',
        body: `Für Ihr Konto bei ${app} wurden neue Wiederherstellungscodes erstellt. Die alten funktionieren nicht mehr.`,
      },
      guesses: {
        subject: `Jemand kennt vielleicht Ihr Passwort für ${app}`,
        title: 'Falsche Codes nach Ihrem Passwort',
        body: `Jemand hat das Passwort Ihres Kontos bei ${app} eingegeben und danach ${wrongCodes} falsche Codes hintereinander.`,
      },
    },
  },
  account: {
    title: 'Ihr Konto',
    password: 'Passwort',
    current: 'Aktuelles Passwort',
    change: 'Passwort ändern',
    wrong: 'Das aktuelle Passwort ist falsch. Prüfen Sie es und versuchen Sie es erneut.',
    problems: {
      signInAgain: 'Melden Sie sich erneut an, um Ihre Passkeys zu ändern.',
      passkeyName: 'Geben Sie einen Namen mit 1 bis 60 Zeichen ein.',
      limited:
        'Es gab zu viele Versuche. Warten Sie einige Minuten und versuchen Sie es dann erneut.',
      unknown:
        'Wir wissen nicht, ob Ihr Passwort geändert wurde. Warten Sie einige Sekunden und versuchen Sie es erneut, oder melden Sie sich mit dem neuen an.',
    },
    organization: 'Die Anmeldung Ihrer Organisation schützt Ihr Konto.',
    sessions: 'Wo Sie angemeldet sind',
    thisDevice: 'Dieses Gerät',
    unknownDevice: 'Unbekanntes Gerät',
    began: {
      password: 'Mit Ihrem Passwort angemeldet:',
      passkey: 'Mit einem Passkey angemeldet:',
      connection: 'Mit {name} angemeldet:',
      sso: 'Über Ihre Organisation angemeldet:',
      code: 'Angemeldet:',
      operator: 'Von der Administration in Ihrem Namen angemeldet:',
    },
    lastUsed: 'Zuletzt verwendet:',
    activeNow: 'Jetzt aktiv',
    done: {
      passkeyAdded:
        'Ihr Passkey wurde hinzugefügt. Ab jetzt können Sie sich mit ihm anmelden.',
      passkeyRenamed: 'Der Passkey wurde umbenannt.',
      passkeyRemoved:
        'Der Passkey wurde entfernt. Alle anderen Geräte wurden abgemeldet.',
      changed: 'Ihr Passwort wurde geändert. Alle anderen Geräte wurden abgemeldet.',
      ended: 'Das Gerät wurde abgemeldet.',
      others: 'Alle anderen Geräte wurden abgemeldet.',
      setUp:
        'Ihre Authenticator-App ist eingerichtet. Alle anderen Geräte wurden abgemeldet.',
      newCodes:
        'Sie haben neue Wiederherstellungscodes. Die alten funktionieren nicht mehr.',
      switchOff:
        'Ihre Authenticator-App ist ausgeschaltet. Alle anderen Geräte wurden abgemeldet.',
    },
    events: {
      title: 'Letzte Ereignisse',
      intro: `Was in den letzten ${accountEventDays} Tagen mit Ihrem Konto geschehen ist. Wenn Sie etwas davon nicht waren, ändern Sie Ihr Passwort und informieren Sie den Support.`,
      show: 'Ereignisse anzeigen',
      none: 'Bisher ist nichts geschehen.',
      byOther: 'Von der Administration oder Ihrer Organisation',
      operator: 'Die Administration hat sich in Ihrem Namen angemeldet',
      kinds: {
        signed_in: 'Anmeldung',
        sign_in_failed: 'Fehlgeschlagene Anmeldung',
        signed_out: 'Abmeldung',
        session_ended: 'Ein Gerät wurde abgemeldet',
        refresh_token_reused:
          'Ein Gerät wurde abgemeldet, weil seine Sitzung vielleicht kopiert wurde',
        password_reset: 'Neues Passwort über einen Link',
        password_changed: 'Passwort geändert',
        reset_link_issued: 'Ein Link zum Wählen eines Passworts wurde ausgestellt',
        sign_in_link_issued:
          'Die Administration hat einen Link erhalten, um sich in Ihrem Namen anzumelden',
        second_factor_on: 'Authenticator-App eingerichtet',
        second_factor_off: 'Authenticator-App abgeschaltet',
        recovery_codes_replaced: 'Neue Wiederherstellungscodes',
        passkey_added: 'Passkey hinzugefügt',
        passkey_removed: 'Passkey entfernt',
        user_disabled: 'Konto gesperrt',
        user_enabled: 'Konto entsperrt',
        user_renamed: 'E‑Mail-Adresse geändert',
        user_linked: 'Mit der Anmeldung Ihrer Organisation verknüpft',
        user_unlinked: 'Von der Anmeldung Ihrer Organisation getrennt',
      },
    },
    signOutHere: 'Hier abmelden',
    signOutOthers: 'Überall sonst abmelden',
    factor: {
      titles: {
        setUp: 'Authenticator-App einrichten',
        newCodes: 'Neue Wiederherstellungscodes erstellen',
        switchOff: 'Authenticator-App ausschalten',
      },
      noScript:
        'Diese Seite braucht JavaScript. Aktivieren Sie es in den Einstellungen Ihres Browsers und laden Sie diese Seite dann neu.',
      notLoaded:
        'Ein Teil dieser Seite fehlt. Prüfen Sie Ihre Verbindung und laden Sie diese Seite dann neu.',
      name: 'Authenticator-App',
      off: 'Machen Sie Ihr Konto sicherer: Nach dem Passwort fragen wir dann nach einem Code aus einer App auf Ihrem Smartphone.',
      on: 'Wenn Sie sich mit Ihrem Passwort anmelden, fragen wir nach einem Code.',
      onPasskey:
        'Nach dem Passwort fragen wir nach Ihrem Passkey oder einem Wiederherstellungscode.',
      noCodes:
        'Sie melden sich mit Ihrem Passkey an. Sie haben noch keine Wiederherstellungscodes: Erstellen Sie jetzt welche, falls Sie ihn verlieren.',
      requiredAgain:
        'Ein zweiter Faktor ist vorgeschrieben. Wenn Sie sich das nächste Mal mit Ihrem Passwort anmelden, richten Sie wieder einen ein.',
      requiredPasskey:
        'Ein zweiter Faktor ist vorgeschrieben. Nach dem Passwort fragen wir nach Ihrem Passkey oder einem Wiederherstellungscode.',
      proven:
        'Sie haben sich gerade mit Ihrem Passkey angemeldet und brauchen Ihr Passwort deshalb nicht.',
      usePasskey: 'Stattdessen Passkey verwenden',
      since: 'Eingeschaltet seit',
      left: 'Übrige Wiederherstellungscodes:',
      actions: {
        setUp: 'Einrichten',
        newCodes: 'Neue Wiederherstellungscodes',
        switchOff: 'Ausschalten',
      },
      cancel: 'Abbrechen',
      add: 'Fügen Sie dieses Konto Ihrer App hinzu',
      scan: 'Scannen Sie diesen Code mit Ihrer App.',
      qr: 'QR-Code',
      open: 'Authenticator-App öffnen',
      otherDevice: 'QR-Code und Schlüssel anzeigen',
      key: 'Scannen nicht möglich? Geben Sie diesen Schlüssel in Ihre App ein:',
      done: {
        setUp: 'Ihre Authenticator-App ist eingeschaltet',
        newCodes: 'Die neuen Wiederherstellungscodes ersetzen die alten',
        passkey: 'Ihr Passkey wurde hinzugefügt',
      },
      save: 'Speichern Sie Ihre Wiederherstellungscodes',
      saveBody:
        'Wenn Sie Ihr Smartphone verlieren, melden Sie sich mit Ihrem Passwort und einem dieser Codes an. Jeder Code gilt nur einmal. Bewahren Sie sie sicher auf, zum Beispiel in einem Passwortmanager. Wir zeigen sie nicht noch einmal.',
      codes: 'Wiederherstellungscodes',
      download: 'Herunterladen',
      saved: 'Ich habe sie gespeichert',
      lost: 'Ihre Wiederherstellungscodes wurden nicht angezeigt',
      lostBody:
        'Ihr zweiter Faktor ist eingerichtet, aber die Verbindung ist abgebrochen, bevor wir Ihre Wiederherstellungscodes anzeigen konnten. Erstellen Sie jetzt neue, damit Sie sich auch ohne Ihr Telefon anmelden können.',
      sending: 'Einen Moment …',
      limited: {
        title: 'Bitte warten Sie ein wenig',
        body: 'Es gab zu viele falsche Passwörter oder Codes. Es wurde nichts geändert.',
      },
      unavailable: {
        title: 'Das ist gerade nicht möglich',
        body: 'Es wurde nichts geändert, und Ihre Eingabe ist noch da.',
      },
      unknown: {
        title: 'Die Verbindung wurde unterbrochen',
        body: 'Wir wissen nicht, ob etwas geändert wurde. Laden Sie diese Seite neu, um es zu sehen.',
      },
      failed: {
        title: 'Das hat nicht geklappt',
        body: 'Bei uns ist ein Fehler aufgetreten. Versuchen Sie es erneut. Wenn das Problem weiterhin besteht, wenden Sie sich an den Support und nennen Sie die unten stehende Referenznummer.',
      },
    },
  },
  passkey: {
    name: 'Passkeys',
    what: 'Mit einem Passkey melden Sie sich mit Ihrem Fingerabdruck, Ihrem Gesicht oder einer PIN an. Er schützt vor Phishing.',
    signIn: 'Mit einem Passkey anmelden',
    prompt: 'Folgen Sie den Schritten, die Ihr Gerät anzeigt.',
    cancel: 'Abbrechen',
    add: 'Passkey hinzufügen',
    addTitle: 'Passkey hinzufügen',
    create: 'Passkey erstellen',
    offerTitle: 'Beim nächsten Mal schneller anmelden',
    notNow: 'Nicht jetzt',
    otherDevice:
      'Erstellen Sie auch auf diesem Gerät einen Passkey, damit Sie das andere beim nächsten Mal nicht brauchen.',
    synced: 'Synchronisiert',
    single: 'Nur auf einem Gerät',
    added: 'Hinzugefügt:',
    unused: 'Noch nicht verwendet',
    rename: 'Umbenennen',
    label: 'Name des Passkeys',
    save: 'Speichern',
    remove: 'Entfernen',
    removeBody:
      'Sie können sich nicht mehr mit ihm anmelden, und alle anderen Geräte werden abgemeldet.',
    last: 'Sie melden sich dann mit Ihrem Passwort an.',
    lastRequired:
      'Wenn Sie sich das nächste Mal mit Ihrem Passwort anmelden, richten Sie einen zweiten Faktor ein.',
    removeThis: 'Diesen Passkey entfernen',
    again: 'Erneut anmelden',
    againBody: 'Melden Sie sich zum Schutz Ihres Kontos erneut an, bevor Sie das ändern.',
    back: 'Zurück zu Ihrem Konto',
    exists: 'Dieses Gerät hat bereits einen Passkey für Ihr Konto.',
    signInProblems: {
      NotAllowedError:
        'Das hat nicht geklappt oder wurde abgebrochen. Versuchen Sie es erneut, oder melden Sie sich mit Ihrem Passwort an.',
      SecurityError: 'Passkeys funktionieren unter dieser Adresse nicht.',
      browser: 'Ihr Browser konnte keinen Passkey verwenden. Verwenden Sie Ihr Passwort.',
      CHALLENGE_INVALID: 'Das hat zu lange gedauert. Versuchen Sie es erneut.',
      unknown_passkey:
        'Dieser Passkey wurde aus Ihrem Konto entfernt. Melden Sie sich auf andere Weise an.',
      user_not_verified:
        'Ihr Passwortmanager hat nicht geprüft, ob Sie es sind. Schalten Sie dort die Bildschirmsperre oder die PIN ein, oder verwenden Sie Ihr Passwort.',
      invalid:
        'Dieser Passkey kann nicht verwendet werden. Melden Sie sich auf andere Weise an.',
    },
    addProblems: {
      cancelled:
        'Es wurde kein Passkey erstellt. Versuchen Sie es erneut. Wenn dieses Gerät schon einen für Ihr Konto hat, brauchen Sie keinen weiteren.',
      unsupported:
        'Dieses Gerät oder dieser Schlüssel kann nicht prüfen, ob Sie es sind. Richten Sie eine Bildschirmsperre oder eine PIN ein, oder verwenden Sie ein anderes Gerät.',
      address: 'Passkeys funktionieren unter dieser Adresse nicht.',
      browser: 'Ihr Browser konnte keinen Passkey verwenden. Verwenden Sie Ihr Passwort.',
      expired: 'Das hat zu lange gedauert. Versuchen Sie es erneut.',
      unverified:
        'Ihr Passwortmanager hat nicht geprüft, ob Sie es sind. Schalten Sie dort die Bildschirmsperre oder die PIN ein, oder verwenden Sie Ihr Passwort.',
      invalid:
        'Dieser Passkey kann nicht verwendet werden. Versuchen Sie es erneut, oder verwenden Sie ein anderes Gerät.',
      conflict: `Dieser Passkey kann nicht hinzugefügt werden: Ihr Konto hat ihn bereits, oder es hat ${maxPasskeys} Passkeys.`,
    },
    unknown: {
      title: 'Die Verbindung wurde unterbrochen',
      body: 'Wir wissen nicht, ob der Passkey gespeichert wurde. Sehen Sie in der Liste in Ihrem Konto nach.',
    },
  },
  secondFactor: {
    title: 'Bestätigen Sie, dass Sie es sind',
    passkey: 'Passkey verwenden',
    passkeyOnly: 'Verwenden Sie den Passkey, den Sie Ihrem Konto hinzugefügt haben.',
    passkeyProblems: {
      NotAllowedError:
        'Das hat nicht geklappt oder wurde abgebrochen. Versuchen Sie es erneut.',
      browser:
        'Ihr Browser konnte keinen Passkey verwenden. Versuchen Sie es mit einem anderen Browser oder Gerät.',
    },
    setUp: {
      title: 'Zweiten Faktor einrichten',
      body: 'Um sich anzumelden, brauchen Sie neben dem Passwort einen zweiten Faktor.',
      app: 'Authenticator-App verwenden',
      appBody:
        'Nach dem Passwort geben Sie dann einen Code aus einer App auf Ihrem Smartphone ein.',
      instead: 'Stattdessen Passkey verwenden',
    },
    names: {
      code: 'Code aus Ihrer Authenticator-App',
      recoveryCode: 'Wiederherstellungscode',
    },
    hint: {
      code: 'Sechs Ziffern, die sich alle 30 Sekunden ändern.',
      recoveryCode:
        'Sie haben diese Codes beim Einrichten des zweiten Faktors gespeichert. Jeder funktioniert einmal.',
    },
    instead: {
      code: 'Wiederherstellungscode verwenden',
      recoveryCode: 'Authenticator-App verwenden',
    },
    empty: { password: 'Geben Sie Ihr Passwort ein.', code: 'Geben Sie einen Code ein.' },
    issues: {
      code: {
        wrong:
          'Dieser Code ist falsch. Prüfen Sie, ob Ihr Smartphone die Uhrzeit automatisch einstellt, und geben Sie dann den neuesten Code ein.',
        used: 'Dieser Code wurde bereits verwendet. Warten Sie auf den nächsten.',
      },
      recoveryCode: {
        wrong:
          'Dieser Wiederherstellungscode ist falsch. Prüfen Sie ihn und versuchen Sie es erneut.',
        used: 'Dieser Wiederherstellungscode wurde bereits verwendet. Geben Sie einen anderen ein.',
      },
      locked:
        'Es gab zu viele falsche Codes. Die Codes Ihrer App funktionieren deshalb nicht mehr. Verwenden Sie einen Wiederherstellungscode, oder wenden Sie sich an Ihre IT-Abteilung.',
    },
    expired:
      'Das hat zu lange gedauert, oder Ihr Konto wurde geändert. Beginnen Sie noch einmal mit Ihrem Passwort.',
    unknown: {
      title: 'Die Verbindung wurde unterbrochen',
      body: 'Wir wissen nicht, ob Sie angemeldet sind. Warten Sie auf den nächsten Code und geben Sie ihn ein.',
    },
  },
})
