import { lifetimes } from '../../contract/lifetimes'
import { inUnits } from '../relative-time'
import type { Texts } from './en'

const codeLifetime = lifetimes.code === 60 ? 'eine Minute' : inUnits(lifetimes.code, 'de')
const signInLifetime = inUnits(lifetimes.signIn, 'de')
const tokenLifetime = inUnits(lifetimes.resetToken, 'de')

export const de = (app: string, passwordMinLength: number): Texts => ({
  language: 'de',
  direction: 'ltr',
  app,
  shared: {
    requestId: 'Kennung für den Support:',
    tryAgain: 'Noch einmal versuchen',
    waiting: 'Sie können es {when} noch einmal versuchen.',
    waitingForNetwork: 'Sie können es noch einmal versuchen, sobald Sie online sind.',
    waited: 'Sie können es jetzt noch einmal versuchen.',
    signIn: 'Anmelden',
    signInAgain: 'Erneut anmelden',
    goOn: 'Weiter',
    home: 'Zur Startseite',
    noScript: 'Diese Seite braucht JavaScript',
    notLoaded: 'Diese Seite ist nicht vollständig geladen',
  },
  home: {
    signedIn: 'Sie sind angemeldet',
    as: 'Angemeldet als',
    until: 'Angemeldet bis',
    open: `${app} öffnen`,
    signOut: 'Abmelden',
    signedOut: 'Sie sind nicht angemeldet',
    signedOutBody: `Melden Sie sich an, um ${app} zu nutzen.`,
    signedOutWithoutLink: 'Beginnen Sie dort, wo Sie sich sonst anmelden.',
    forgotPassword: 'Passwort vergessen?',
  },
  signIn: {
    body: 'Geben Sie Ihre dienstliche E‑Mail-Adresse ein. Sie führt Sie zur Anmeldeseite Ihrer Organisation.',
    label: 'E‑Mail-Adresse',
    submit: 'Weiter',
    with: 'Anmelden mit {name}',
    errorPrefix: 'Fehler: ',
    invalidEmail: 'Geben Sie eine E‑Mail-Adresse ein, etwa ada@example.com.',
    unknownEmail:
      'Wir wissen nicht, wo sich diese Adresse anmeldet. Prüfen Sie sie, oder fragen Sie Ihre Administration.',
    going: 'Es geht weiter bei Ihrer Organisation',
    goingBody: 'Sie melden sich mit {name} an und kommen dann hierher zurück.',
    bodyWithPassword: 'Geben Sie Ihre E‑Mail-Adresse ein, um fortzufahren.',
    password: 'Passwort',
    usePassword: 'Mit Passwort anmelden',
    passwordTitle: 'Passwort eingeben',
    change: 'Ändern',
    changeLabel: 'E‑Mail-Adresse ändern',
    forgotPassword: 'Passwort vergessen?',
    early: 'Wird geladen … Die Anmeldung geht weiter, sobald diese Seite bereit ist.',
    sending: 'Sie werden angemeldet',
    slow: 'Die Anmeldung läuft noch. Lassen Sie diese Seite geöffnet.',
    problem: 'Es gibt ein Problem',
    wrongPassword: 'Die E‑Mail-Adresse oder das Passwort ist falsch. Prüfen Sie beides und versuchen Sie es erneut.',
    limited: {
      title: 'Die Anmeldung ist vorübergehend gesperrt',
      body: 'Mit dieser Adresse oder aus Ihrem Netzwerk gab es zu viele Versuche. Sie können es {when} erneut versuchen.',
    },
    unavailable: {
      title: 'Die Anmeldung ist gerade nicht möglich',
      body: 'Sie sind nicht angemeldet. Warten Sie ein paar Sekunden und versuchen Sie es erneut.',
    },
    offline: {
      title: 'Sie sind offline',
      body: 'Es wurde nichts gesendet, und Ihre Eingabe ist noch da. Stellen Sie eine Internetverbindung her und versuchen Sie es erneut.',
    },
    unknown: {
      title: 'Die Verbindung ist abgebrochen',
      body: 'Wir können nicht feststellen, ob Sie angemeldet sind. Versuchen Sie es erneut.',
    },
    failed: {
      title: 'Anmeldung fehlgeschlagen',
      body: 'Bei uns ist ein Fehler aufgetreten. Versuchen Sie es erneut. Wenn das Problem weiter besteht, nennen Sie dem Support die Referenznummer unten.',
    },
  },
  notFound: {
    title: 'Seite nicht gefunden',
    body: 'Unter dieser Adresse gibt es nichts. Haben Sie sie eingetippt? Dann prüfen Sie sie. Sind Sie einem Link gefolgt, ist er vielleicht unvollständig oder veraltet.',
  },
  limitedPage: {
    title: 'Zu viele Anfragen aus Ihrem Netzwerk',
    body: 'Sie können diese Seite {when} wieder öffnen. Es ist nichts verloren gegangen.',
    reload: 'Seite erneut öffnen',
  },
  error: {
    title: 'Etwas ist schiefgegangen',
    body: 'Das liegt an uns, nicht an Ihnen. Versuchen Sie es gleich noch einmal.',
  },
  sso: {
    noScript: 'Schalten Sie es in den Einstellungen Ihres Browsers ein, und melden Sie sich dann erneut an.',
    notLoaded: 'Ein Teil von ihr ist nicht angekommen. Prüfen Sie Ihre Verbindung, und melden Sie sich dann erneut an.',
    working: 'Sie werden angemeldet',
    workingBody: 'Das dauert einen Moment.',
    slow: 'Die Anmeldung läuft noch. Lassen Sie diese Seite offen.',
    done: 'Sie sind angemeldet',
    doneBody: `Es geht weiter zu ${app}.`,
    used: {
      title: 'Diese Anmeldung kann nicht verwendet werden',
      body: `Jede Anmeldung gilt nur einmal, nur ${codeLifetime} lang und nur in dem Browser, in dem Sie sie begonnen haben. Mit Ihrem Konto ist alles in Ordnung. Haben Sie sich gerade angemeldet, gehen Sie weiter; wenn nicht, melden Sie sich erneut an.`,
    },
    noCode: {
      title: 'Es gibt keine laufende Anmeldung',
      body: 'Diese Seite funktioniert nur einmal, gleich nachdem Sie sich bei Ihrer Organisation angemeldet haben. Haben Sie sich gerade angemeldet, gehen Sie weiter; wenn nicht, melden Sie sich erneut an.',
    },
    limited: {
      title: 'Zu viele Versuche',
      body: 'Aus Ihrem Netz kamen in kurzer Zeit viele Anmeldungen. Sie sind noch nicht angemeldet.',
    },
    limitedLong: {
      title: 'Zu viele Versuche',
      body: 'Aus Ihrem Netz kamen in kurzer Zeit viele Anmeldungen. Sie sind noch nicht angemeldet. Sie können sich {when} erneut anmelden.',
    },
    unavailable: {
      title: 'Die Anmeldung ist gerade nicht möglich',
      body: 'Wir konnten Ihre Anmeldung nicht abschließen. Nichts ist verloren, und mit Ihrem Konto ist alles in Ordnung.',
    },
    offline: {
      title: 'Sie sind offline',
      body: `Es wurde nichts gesendet. Verbinden Sie sich mit dem Internet, und versuchen Sie es bald noch einmal: Diese Anmeldung gilt nur ${codeLifetime}.`,
    },
    unknown: {
      title: 'Wir wissen nicht, ob Sie angemeldet sind',
      body: 'Die Verbindung brach ab, bevor wir eine Antwort bekamen. Vielleicht sind Sie schon angemeldet: Gehen Sie weiter, dann sehen Sie es. Wenn nicht, melden Sie sich erneut an.',
    },
    failed: {
      title: 'Die Anmeldung ist gescheitert',
      body: 'Bei uns ist etwas schiefgegangen. Melden Sie sich erneut an; wenn es wieder geschieht, nennen Sie dem Support die Kennung unten.',
    },
    gaveUp: {
      title: 'Es funktioniert noch immer nicht',
      body: 'Wir konnten Ihre Anmeldung nicht abschließen. Warten Sie ein paar Minuten, und melden Sie sich dann erneut an.',
    },
    rejected: {
      access_denied: {
        title: 'Die Anmeldung wurde abgebrochen',
        body: 'Ihr Identitätsanbieter hat die Anmeldung nicht erlaubt, oder sie wurde dort abgebrochen. War das nicht gewollt, melden Sie sich erneut an. Sollten Sie Zugang haben, fragen Sie Ihre Administration.',
      },
      login_required: {
        title: 'Ihr Identitätsanbieter verlangt eine Anmeldung',
        body: 'Ihre Anmeldung dort ist beendet. Melden Sie sich erneut an.',
      },
      temporarily_unavailable: {
        title: 'Ihr Identitätsanbieter ist nicht erreichbar',
        body: 'Er kann gerade niemanden anmelden. Warten Sie ein paar Minuten, und melden Sie sich dann erneut an.',
      },
      server_error: {
        title: 'Ihr Identitätsanbieter hatte eine Störung',
        body: 'Er konnte die Anmeldung nicht abschließen. Melden Sie sich erneut an; wenn es wieder geschieht, sagen Sie es Ihrer Administration.',
      },
      attempt_invalid: {
        title: 'Diese Anmeldung kann nicht fortgesetzt werden',
        body: `Jede Anmeldung gilt nur einmal, nur ${signInLifetime} lang und nur in dem Browser, in dem Sie sie begonnen haben. Mit Ihrem Konto ist alles in Ordnung: Melden Sie sich erneut an.`,
      },
      response_invalid: {
        title: 'Wir konnten Ihre Anmeldung nicht prüfen',
        body: 'Was Ihr Identitätsanbieter geschickt hat, stimmt nicht; wir haben es nicht verwendet. Melden Sie sich erneut an; wenn es wieder geschieht, sagen Sie es Ihrer Administration.',
      },
      no_access: {
        title: `Sie haben keinen Zugang zu ${app}`,
        body: `Ihre Organisation hat Sie angemeldet, aber mit diesem Konto können Sie ${app} nicht nutzen. Fragen Sie Ihre Administration.`,
      },
      connection_unavailable: {
        title: 'So können Sie sich nicht anmelden',
        body: 'Diese Anmeldung gibt es nicht, oder sie wurde abgeschaltet. Melden Sie sich anders an, oder fragen Sie Ihre Administration.',
      },
      unavailable: {
        title: 'Die Anmeldung ist gerade nicht möglich',
        body: 'Wir konnten Ihre Anmeldung nicht abschließen. Nichts ist verloren, und mit Ihrem Konto ist alles in Ordnung. Warten Sie ein paar Minuten, und melden Sie sich dann erneut an.',
      },
      other: {
        title: 'Ihr Identitätsanbieter hat Sie nicht angemeldet',
        body: 'Er hat die Anmeldung mit einem Fehler beendet. Melden Sie sich erneut an; wenn es wieder geschieht, sagen Sie es Ihrer Administration.',
      },
    },
  },
  reset: {
    noScript:
      'Schalten Sie es in den Einstellungen Ihres Browsers ein, und öffnen Sie dann den Link aus Ihrer E‑Mail noch einmal.',
    notLoaded:
      'Ein Teil von ihr ist nicht angekommen, und Ihr Passwort kann noch nicht gespeichert werden. Prüfen Sie Ihre Verbindung, und öffnen Sie dann den Link aus Ihrer E‑Mail noch einmal.',
    early: 'Wird geladen … Ihr Passwort wird gespeichert, sobald diese Seite bereit ist.',
    form: 'Neues Passwort wählen',
    formBody: `Damit melden Sie sich künftig bei ${app} an. Alle Geräte, die jetzt angemeldet sind, werden abgemeldet.`,
    label: 'Neues Passwort',
    rules: [
      `Mindestens ${passwordMinLength} Zeichen.`,
      'Drei oder mehr Wörter ohne Zusammenhang sind stark und leicht zu merken. Leerzeichen sind erlaubt.',
    ],
    show: 'Anzeigen',
    hide: 'Ausblenden',
    showLabel: 'Passwort anzeigen',
    hideLabel: 'Passwort ausblenden',
    shown: 'Ihr Passwort ist sichtbar.',
    hidden: 'Ihr Passwort ist verborgen.',
    submit: 'Passwort speichern',
    sending: 'Ihr Passwort wird gespeichert',
    slow: 'Das Speichern läuft noch. Lassen Sie diese Seite offen.',
    problem: 'Es gibt ein Problem',
    errorPrefix: 'Fehler: ',
    strength: {
      short: 'Noch zu kurz',
      weak: 'Noch leicht zu erraten',
      good: 'Gut: schwer zu erraten',
      strong: 'Sehr stark',
    },
    issues: {
      too_short: `Verwenden Sie mindestens ${passwordMinLength} Zeichen.`,
      too_long: 'Verwenden Sie höchstens 72 Zeichen; Umlaute und Emoji zählen mehrfach.',
      invalid_characters: 'Lassen Sie Zeichen weg, die sich nicht tippen lassen.',
      too_guessable: `Dieses Passwort ist leicht zu erraten. Verwenden Sie drei oder mehr Wörter ohne Zusammenhang, oder etwas Längeres. Verwenden Sie weder Ihre E‑Mail-Adresse noch den Namen ${app}.`,
      breached: 'Dieses Passwort kommt in einem bekannten Datenleck vor. Verwenden Sie ein anderes.',
    },
    otherIssue: 'Dieses Passwort kann nicht verwendet werden. Wählen Sie ein anderes.',
    done: {
      title: 'Ihr Passwort ist geändert',
      body: 'Sie wurden überall abgemeldet. Melden Sie sich mit Ihrem neuen Passwort an.',
    },
    dead: {
      title: 'Dieser Link gilt nicht mehr',
      body: `Er wurde schon benutzt, ist älter als ${tokenLifetime}, es wurde ein neuerer verschickt, es wurden zu viele Passwörter damit versucht, oder er ist unvollständig. Haben Sie damit gerade ein neues Passwort gewählt, melden Sie sich mit diesem an.`,
    },
    noToken: {
      title: 'Öffnen Sie den Link aus Ihrer E‑Mail',
      body: 'Um ein neues Passwort zu wählen, öffnen Sie diese Seite über den Link in der E‑Mail, die wir Ihnen geschickt haben. Haben Sie die Seite neu geladen, öffnen Sie denselben Link noch einmal.',
    },
    newLink: 'Neuen Link anfordern',
    newLinkWithoutPlace: 'Einen neuen Link bekommen Sie über „Passwort vergessen“, dort, wo Sie sich sonst anmelden.',
    limited: {
      title: 'Zu viele Versuche',
      body: 'Aus Ihrem Netz kamen in kurzer Zeit viele Anfragen. Ihr Passwort wurde nicht geändert, und Ihre Eingabe ist noch da.',
    },
    unavailable: {
      title: 'Das Speichern ist gerade nicht möglich',
      body: 'Ihr Passwort wurde nicht geändert. Ihr Link wurde nicht verbraucht, und Ihre Eingabe ist noch da.',
    },
    offline: {
      title: 'Sie sind offline',
      body: 'Es wurde nichts gesendet, und Ihre Eingabe ist noch da. Verbinden Sie sich mit dem Internet, und versuchen Sie es noch einmal.',
    },
    unknown: {
      title: 'Wir wissen nicht, ob Ihr Passwort geändert ist',
      body: 'Die Verbindung brach ab, bevor wir eine Antwort bekamen. Versuchen Sie, sich mit dem neuen Passwort anzumelden. Geht das nicht, fordern Sie einen neuen Link an.',
    },
    failed: {
      title: 'Wir konnten Ihr Passwort nicht ändern',
      body: 'Bei uns ist etwas schiefgegangen. Öffnen Sie den Link in Ihrer E‑Mail noch einmal; wenn es wieder geschieht, nennen Sie dem Support die Kennung unten.',
    },
    gaveUp: {
      title: 'Es funktioniert noch immer nicht',
      body: `Ihr Passwort wurde nicht geändert, und Ihre Eingabe ist noch da. Sie können auch später den Link in Ihrer E‑Mail noch einmal öffnen: Er gilt ${tokenLifetime} ab dem Versand.`,
    },
  },
  forgot: {
    title: 'Link für ein neues Passwort anfordern',
    body: 'Geben Sie Ihre E‑Mail-Adresse ein. Wir schicken Ihnen einen Link.',
    label: 'E‑Mail-Adresse',
    submit: 'Link senden',
    problem: 'Es gibt ein Problem',
    invalid: 'Geben Sie eine E‑Mail-Adresse ein, zum Beispiel name@example.com.',
    errorPrefix: 'Fehler: ',
    sent: {
      title: 'Sehen Sie in Ihr Postfach',
      body: `Wenn es ein Konto mit der eingegebenen Adresse gibt, haben wir einen Link dorthin geschickt. Der Link gilt nur einmal und ${tokenLifetime} lang. Nur der neueste Link ist gültig.`,
      missing:
        'Nach einigen Minuten nichts angekommen? Sehen Sie im Spam-Ordner nach, prüfen Sie die Adresse und fordern Sie den Link erneut an.',
      again: 'Erneut anfordern',
    },
  },
  mail: {
    link: 'Wenn die Schaltfläche nicht funktioniert, kopieren Sie diese Adresse in Ihren Browser:',
    device: '{browser} unter {system}',
    reset: {
      subject: `Neues Passwort für ${app} wählen`,
      title: 'Neues Passwort wählen',
      body: `Mit diesem Link können Sie ein neues Passwort für Ihr Konto bei ${app} wählen.`,
      button: 'Neues Passwort wählen',
      expiry: `Der Link gilt nur einmal und ${tokenLifetime} lang ab dem Versand dieser E‑Mail. Nur der neueste Link ist gültig.`,
      requested: { plain: 'Angefordert am {when}.', fromDevice: 'Angefordert am {when}, mit {device}.' },
      notYou: 'Waren Sie das nicht? Dann ignorieren Sie diese E‑Mail: Es hat sich nichts geändert.',
    },
    changed: {
      subject: `Ihr Passwort für ${app} wurde geändert`,
      title: 'Ihr Passwort wurde geändert',
      body: `Das Passwort Ihres Kontos bei ${app} wurde geändert, und alle Geräte wurden abgemeldet.`,
      button: 'Neuen Link anfordern',
      requested: { plain: 'Das war am {when}.', fromDevice: 'Das war am {when}, mit {device}.' },
      notYou:
        'Waren Sie das, brauchen Sie nichts zu tun. Waren Sie es nicht, fordern Sie einen neuen Link an und wählen Sie sofort ein anderes Passwort.',
      support:
        'Wer es geändert hat, konnte eine E‑Mail an diese Adresse öffnen: Ändern Sie auch das Passwort Ihres Postfachs und informieren Sie Ihren Support.',
    },
  },
})
