import { accountEventDays } from '../contract/events'
import {
  maxPasskeys,
  noticedSecondFactorFailures as wrongCodes,
} from '../contract/lifetimes'
import { writeLifetimes } from './durations'
import type { Texts } from './en'

const durations = writeLifetimes('fr', {
  60: 'une minute',
  [20 * 60]: '20\u00a0minutes',
  [60 * 60]: '1\u00a0heure',
  [7 * 24 * 60 * 60]: '7\u00a0jours',
})

export const fr = (app: string, passwordMinLength: number): Texts => ({
  language: 'fr',
  direction: 'ltr',
  app,
  shared: {
    requestId: 'Référence pour l’assistance :',
    copy: 'Copier',
    copied: 'Copié',
    errorPrefix: 'Erreur : ',
    tryAgain: 'Réessayer',
    waiting: 'Vous pourrez réessayer {when}.',
    waitingForNetwork: 'Vous pourrez réessayer dès que vous serez en ligne.',
    waited: 'Vous pouvez maintenant réessayer.',
    offline: {
      title: 'Vous êtes hors ligne',
      body: 'Rien n’a été envoyé et votre saisie est conservée.',
    },
    signIn: 'Se connecter',
    signInAgain: 'Se connecter à nouveau',
    goOn: 'Continuer',
    home: 'Aller à la page d’accueil',
    noScript: 'Activez JavaScript pour continuer',
    notLoaded: 'La page ne s’est pas chargée entièrement',
    updated: {
      title: 'Cette page a été mise à jour',
      body: 'Rechargez-la pour continuer.',
      reload: 'Recharger la page',
    },
  },
  footer: {
    help: 'Aide',
    privacy: 'Confidentialité',
    terms: 'Conditions d’utilisation',
    language: 'Langue',
  },
  home: {
    signedIn: 'Votre session est ouverte',
    as: 'Compte',
    until: 'Session ouverte jusqu’au',
    open: `Ouvrir ${app}`,
    signOut: 'Se déconnecter',
    signedOut: 'Aucune session ouverte',
    justSignedOut: 'Déconnexion réussie',
    signedOutBody: `Connectez-vous pour accéder à ${app}.`,
    signedOutWithoutLink: 'Rendez-vous sur votre page de connexion habituelle.',
    forgotPassword: 'Mot de passe oublié ?',
  },
  signIn: {
    title: `Se connecter à ${app}`,
    body: 'Avec votre adresse professionnelle, vous vous connecterez auprès de votre organisation.',
    label: 'Adresse e‑mail',
    submit: 'Continuer',
    with: 'Continuer avec {name}',
    or: 'ou',
    invalidEmail: 'Saisissez une adresse e‑mail, par exemple nom@example.com.',
    unknownEmail:
      'Cette adresse e‑mail ne permet pas de se connecter. Vérifiez-la ou contactez votre service informatique.',
    mailLink: 'Recevoir un lien de connexion par e‑mail',
    going: 'Redirection vers votre organisation',
    goingBody: 'Connectez-vous avec {name}. Vous reviendrez ensuite ici.',
    password: 'Mot de passe',
    usePassword: 'Se connecter avec un mot de passe',
    passwordTitle: 'Saisissez votre mot de passe',
    change: 'Modifier',
    changeLabel: 'Modifier l’adresse e‑mail',
    forgotPassword: 'Mot de passe oublié ?',
    early: 'Chargement… La connexion se poursuivra dès que la page sera prête.',
    sending: 'Connexion en cours',
    slow: 'La connexion est toujours en cours. Ne fermez pas cette page.',
    emptyPassword: 'Saisissez votre mot de passe.',
    another: 'Utiliser un autre compte',
    wrongPassword:
      'Adresse e‑mail ou mot de passe incorrect. Vérifiez les deux, puis réessayez.',
    limited: {
      title: 'La connexion est momentanément suspendue',
      body: 'Il y a eu trop de tentatives avec cette adresse e‑mail ou depuis votre réseau.',
    },
    unavailable: {
      title: 'Impossible de se connecter pour le moment',
      body: 'La connexion n’a pas abouti et votre saisie est conservée.',
    },
    unknown: {
      title: 'La connexion réseau a été interrompue',
      body: 'Nous ne savons pas si votre session est ouverte. Réessayez.',
    },
    failed: {
      title: 'La connexion a échoué',
      body: 'Une erreur s’est produite de notre côté. Réessayez. Si le problème persiste, contactez l’assistance et indiquez la référence ci-dessous.',
    },
  },
  notFound: {
    title: 'Page introuvable',
    body: 'Si vous avez saisi l’adresse, vérifiez-la. Si vous avez suivi un lien, il est peut-être incomplet ou trop ancien.',
  },
  rateLimitedPage: {
    title: 'Trop de demandes depuis votre réseau',
    body: 'Vous pourrez rouvrir cette page {when}. Rien n’a été perdu.',
    reload: 'Rouvrir cette page',
  },
  longUrlPage: {
    title: 'L’adresse web est trop longue',
    body: 'Le service de connexion de votre organisation y a peut-être ajouté trop d’informations. Reconnectez-vous. Si le problème persiste, prévenez votre administrateur.',
  },
  authorizePage: {
    title: 'Cette connexion ne peut pas commencer',
    body: 'L’application qui vous a envoyé ici n’est pas configurée pour cela. Revenez en arrière et réessayez. Si le problème persiste, prévenez son support.',
  },
  singleLogoutPage: {
    title: `Vous n’avez pas été déconnecté de ${app}`,
    body: `Le service de connexion de votre organisation a demandé votre déconnexion, mais ${app} ne le permet pas. Si une session était ouverte ici, elle l’est toujours.`,
  },
  signOutPage: {
    title: 'Voulez-vous vous déconnecter ?',
    body: 'Une session est ouverte pour {email}. Elle sera aussi fermée dans les applications que vous avez ouvertes avec ce compte dans ce navigateur.',
    stay: 'Garder la session ouverte',
  },
  unavailablePage: {
    title: 'Cette page n’est pas disponible pour le moment',
    body: 'Rien n’a été perdu. Patientez quelques secondes, puis rouvrez cette page.',
  },
  error: {
    title: 'Une erreur s’est produite',
    body: 'L’erreur vient de nous, pas de vous. Réessayez dans un instant.',
  },
  sso: {
    noScript:
      'Cette page nécessite JavaScript. Activez-le dans les paramètres de votre navigateur, puis connectez-vous à nouveau.',
    notLoaded:
      'Il manque une partie de la page. Vérifiez votre accès à Internet, puis connectez-vous à nouveau.',
    working: 'Connexion en cours',
    workingBody: 'Cela ne prend qu’un instant.',
    slow: 'La connexion est toujours en cours. Ne fermez pas cette page.',
    done: 'Connexion réussie',
    doneBody: `Nous vous redirigeons vers ${app}.`,
    already: {
      title: 'Votre session est déjà ouverte',
      body: `Vous utilisez le compte {email}. Nous vous redirigeons vers ${app}.`,
    },
    used: {
      title: 'Cette tentative de connexion n’est pas valable',
      body: `Chaque tentative de connexion n’est valable qu’une seule fois, pendant ${durations.code}, dans le navigateur où vous l’avez commencée. Votre compte n’est pas en cause. Si votre session est déjà ouverte, choisissez « Continuer ». Sinon, connectez-vous à nouveau.`,
    },
    noCode: {
      title: 'Aucune tentative de connexion en cours',
      body: 'Vous ne passez par cette page que juste après une connexion auprès de votre organisation. Si votre session est déjà ouverte, choisissez « Continuer ». Sinon, connectez-vous à nouveau.',
    },
    limited: {
      title: 'Trop de demandes depuis votre réseau',
      body: 'Il y a eu trop de tentatives de connexion depuis votre réseau. Votre session n’est pas encore ouverte.',
    },
    limitedLong: {
      title: 'Trop de demandes depuis votre réseau',
      body: 'Il y a eu trop de tentatives de connexion depuis votre réseau. Votre session n’est pas encore ouverte. Vous pourrez vous connecter à nouveau {when}.',
    },
    unavailable: {
      title: 'Impossible de se connecter pour le moment',
      body: 'La connexion n’a pas pu aboutir. Rien n’a été perdu et votre compte n’est pas en cause.',
    },
    offline: {
      title: 'Vous êtes hors ligne',
      body: `Rien n’a été envoyé. Vous avez ${durations.code} pour rétablir votre accès à Internet et réessayer. Passé ce délai, connectez-vous à nouveau.`,
    },
    unknown: {
      title: 'La connexion réseau a été interrompue',
      body: 'Nous ne savons pas si votre session est ouverte. Choisissez « Continuer » pour le vérifier.',
    },
    failed: {
      title: 'La connexion a échoué',
      body: 'Une erreur s’est produite de notre côté. Connectez-vous à nouveau. Si le problème persiste, contactez l’assistance et indiquez la référence ci-dessous.',
    },
    gaveUp: {
      title: 'La connexion ne fonctionne toujours pas',
      body: 'La connexion n’a pas pu aboutir. Patientez quelques minutes, puis connectez-vous à nouveau.',
    },
    rejected: {
      access_denied: {
        title: 'La connexion n’a pas abouti',
        body: `Soit vous avez annulé la connexion, soit votre organisation ne vous autorise pas à utiliser ${app}. Réessayez ou demandez à votre service informatique de vous y donner accès.`,
      },
      login_required: {
        title: 'Votre organisation demande une nouvelle connexion',
        body: 'Votre session auprès de votre organisation a pris fin. Connectez-vous à nouveau pour continuer.',
      },
      temporarily_unavailable: {
        title: 'Le service de connexion de votre organisation est indisponible',
        body: 'Personne ne peut s’y connecter pour le moment. Patientez quelques minutes, puis connectez-vous à nouveau.',
      },
      server_error: {
        title: 'Le service de connexion de votre organisation a rencontré un problème',
        body: 'La connexion n’a pas abouti. Connectez-vous à nouveau. Si le problème persiste, contactez votre service informatique.',
      },
      attempt_invalid: {
        title: 'Impossible de poursuivre cette tentative de connexion',
        body: `Chaque tentative de connexion n’est valable qu’une seule fois, pendant ${durations.signIn}, dans le navigateur où vous l’avez commencée. Votre compte n’est pas en cause. Connectez-vous à nouveau.`,
      },
      response_invalid: {
        title: 'Nous n’avons pas pu vérifier votre connexion',
        body: 'La réponse du service de connexion de votre organisation n’était pas valide. Nous ne l’avons pas utilisée. Connectez-vous à nouveau. Si le problème persiste, contactez votre service informatique.',
      },
      no_access: {
        title: `Vous n’avez pas accès à ${app}`,
        body: `Votre organisation a validé la connexion, mais votre compte ne permet pas d’utiliser ${app}. Reconnectez-vous pour choisir un autre compte, ou demandez l’accès à votre service informatique.`,
        as: `Votre organisation vous a connecté en tant que {email}, mais ce compte ne permet pas d’utiliser ${app}. Reconnectez-vous pour choisir un autre compte, ou demandez l’accès à votre service informatique.`,
        elsewhere: 'Se connecter autrement',
      },
      connection_unavailable: {
        title: 'Ce mode de connexion n’est pas disponible',
        body: 'Il a peut-être été désactivé. Connectez-vous autrement ou contactez votre service informatique.',
      },
      unavailable: {
        title: 'Impossible de se connecter pour le moment',
        body: 'La connexion n’a pas pu aboutir. Rien n’a été perdu et votre compte n’est pas en cause. Patientez quelques minutes, puis connectez-vous à nouveau.',
      },
      other: {
        title: 'La connexion auprès de votre organisation a échoué',
        body: 'Son service de connexion a signalé une erreur. Connectez-vous à nouveau. Si le problème persiste, contactez votre service informatique.',
      },
    },
  },
  passwordField: {
    capsLock: 'Le verrouillage des majuscules est activé.',
    show: 'Afficher',
    hide: 'Masquer',
    showLabel: 'Afficher le mot de passe',
    hideLabel: 'Masquer le mot de passe',
    shown: 'Votre mot de passe est visible.',
    hidden: 'Votre mot de passe est masqué.',
  },
  reset: {
    noScript:
      'Cette page nécessite JavaScript. Activez-le dans les paramètres de votre navigateur, puis rouvrez le lien reçu par e‑mail.',
    notLoaded:
      'Il manque une partie de la page : vous ne pouvez pas encore enregistrer de mot de passe. Vérifiez votre accès à Internet, puis rouvrez le lien reçu par e‑mail.',
    early: 'Chargement… Votre mot de passe sera enregistré dès que la page sera prête.',
    form: 'Choisissez un nouveau mot de passe',
    formBody: `Cette modification fermera vos sessions ${app} sur tous vos appareils.`,
    label: 'Nouveau mot de passe',
    hint: `Entre ${passwordMinLength} et 72 caractères.`,
    tip: 'Conseil : trois mots pris au hasard sont difficiles à deviner et faciles à retenir. Vous pouvez utiliser des espaces.',
    account: 'Compte :',
    submit: 'Enregistrer le mot de passe',
    sending: 'Enregistrement en cours…',
    slow: 'L’enregistrement est toujours en cours. Ne fermez pas cette page.',
    strength: {
      too_short: 'Encore trop court',
      too_long: 'Trop long : 72 caractères au maximum',
      invalid_characters: 'Contient des caractères non autorisés',
      weak: 'Encore facile à deviner',
      good: 'Bien : difficile à deviner',
      strong: 'Très solide',
      rejected: 'Ce mot de passe ne peut pas être utilisé',
    },
    emptyPassword: 'Saisissez un nouveau mot de passe.',
    issues: {
      too_short: `Le mot de passe doit contenir au moins ${passwordMinLength} caractères.`,
      too_long:
        'Le mot de passe ne doit pas dépasser 72 caractères. Les lettres accentuées et les émojis comptent pour plusieurs caractères.',
      invalid_characters:
        'Le mot de passe doit contenir uniquement des caractères que vous pouvez saisir au clavier.',
      too_guessable: 'Choisissez un mot de passe plus difficile à deviner.',
      breached:
        'Choisissez un autre mot de passe. Celui-ci figure dans une fuite de données.',
    },
    personal: `Choisissez un mot de passe qui ne contienne ni le nom ${app} ni aucune partie de votre adresse e‑mail.`,
    otherIssue: 'Choisissez un autre mot de passe. Celui-ci ne peut pas être utilisé.',
    done: {
      title: 'Votre mot de passe a été modifié',
      body: 'Vos sessions ont été fermées sur tous vos appareils. Connectez-vous avec votre nouveau mot de passe.',
    },
    stillNeeded:
      'Si vous utilisez une application d’authentification, vous en aurez toujours besoin.',
    passkeysKept: 'Les clés d’accès que vous avez conservées fonctionnent toujours.',
    removePasskeys: 'Supprimer aussi toutes mes clés d’accès',
    removePasskeysHint: 'Faites-le si quelqu’un d’autre a pu utiliser votre compte.',
    used: {
      title: 'Ce lien a déjà été utilisé',
      body: 'S’il vous a servi à modifier votre mot de passe, connectez-vous. Sinon, demandez un nouveau lien.',
    },
    expired: {
      title: 'Ce lien a expiré',
      body: 'Chaque lien n’est valable que pendant un temps limité. Demandez-en un nouveau pour choisir votre mot de passe.',
    },
    invalid: {
      title: 'Ce lien n’est pas valide',
      body: 'Il en manque peut-être une partie, ou un lien plus récent a été envoyé. Ouvrez le lien de notre e‑mail le plus récent, ou copiez le lien entier dans votre navigateur. Vous pouvez aussi demander un nouveau lien.',
    },
    dead: {
      title: 'Ce lien ne fonctionne plus',
      body: 'Chaque lien n’est valable qu’une seule fois, pendant un temps limité, et seul le plus récent fonctionne. Si vous avez déjà modifié votre mot de passe avec ce lien, connectez-vous.',
    },
    noToken: {
      title: 'Ouvrez le lien reçu par e‑mail',
      body: 'Pour choisir un nouveau mot de passe, utilisez le lien que nous vous avons envoyé par e‑mail. Si vous êtes arrivé ici avec « Ouvrir dans le navigateur », le lien a été perdu : copiez-le depuis l’e‑mail dans votre navigateur.',
    },
    newLink: 'Demander un nouveau lien',
    newLinkWithoutPlace:
      'Pour recevoir un nouveau lien, choisissez « Mot de passe oublié » sur votre page de connexion habituelle.',
    limited: {
      title: 'Trop de demandes depuis votre réseau',
      body: 'Votre mot de passe n’a pas été modifié et votre saisie est conservée.',
    },
    unavailable: {
      title: 'Impossible d’enregistrer votre mot de passe pour le moment',
      body: 'Votre mot de passe n’a pas été modifié. Votre lien n’a pas été utilisé et votre saisie est conservée.',
    },
    unknown: {
      title: 'La connexion réseau a été interrompue',
      body: 'Nous ne savons pas si votre mot de passe a été modifié. Essayez de vous connecter avec le nouveau mot de passe. Si cela ne fonctionne pas, demandez un nouveau lien.',
    },
    failed: {
      title: 'Votre mot de passe n’a pas pu être modifié',
      body: 'Une erreur s’est produite de notre côté. Rouvrez le lien reçu par e‑mail. Si le problème persiste, contactez l’assistance et indiquez la référence ci-dessous.',
    },
    gaveUp: {
      title: 'Toujours impossible d’enregistrer votre mot de passe',
      body: 'Votre mot de passe n’a pas été modifié et votre saisie est conservée. Vous pouvez aussi revenir plus tard avec le lien reçu par e‑mail, tant qu’il est valable.',
    },
  },
  forgot: {
    title: 'Réinitialisez votre mot de passe',
    body: 'Saisissez votre adresse e‑mail. Nous vous enverrons un lien.',
    label: 'Adresse e‑mail',
    invalidEmail: 'Saisissez une adresse e‑mail, par exemple nom@example.com.',
    submit: 'Recevoir le lien',
    sending: 'Envoi du lien en cours…',
    limited: {
      title: 'Trop de demandes depuis votre réseau',
      body: 'Rien n’a été envoyé et votre saisie est conservée.',
    },
    unavailable: {
      title: 'Impossible d’envoyer un lien pour le moment',
      body: 'Rien n’a été envoyé et votre saisie est conservée.',
    },
    unknown: {
      title: 'La connexion réseau a été interrompue',
      body: 'Nous ne savons pas si un lien a été envoyé. Consultez vos e‑mails ou réessayez.',
    },
    failed: {
      title: 'Impossible d’envoyer un lien pour le moment',
      body: 'Une erreur s’est produite de notre côté. Réessayez. Si le problème persiste, contactez l’assistance et indiquez la référence ci-dessous.',
    },
    sent: {
      title: 'Consultez vos e‑mails',
      body: `Nous avons envoyé un lien à {email}, si un compte y correspond. Il n’est valable qu’une seule fois, pendant ${durations.token}. Seul le lien le plus récent fonctionne.`,
      address: 'l’adresse saisie',
      missing:
        'Rien reçu au bout de quelques minutes ? Regardez dans vos courriers indésirables, vérifiez l’adresse, puis refaites la demande.',
      open: 'Ouvrir {name}',
      again: 'Refaire la demande',
      waiting: 'Vous pourrez refaire la demande {when}.',
      waited: 'Vous pouvez maintenant refaire la demande.',
    },
  },
  mail: {
    link: 'Si le bouton ne fonctionne pas, copiez cette adresse dans votre navigateur :',
    account: 'Compte : {email}',
    device: '{browser} sur {system}',
    reset: {
      subject: `Choisissez un nouveau mot de passe pour ${app}`,
      title: 'Choisissez un nouveau mot de passe',
      body: `Ce lien vous permet de choisir un nouveau mot de passe pour votre compte ${app}.`,
      button: 'Choisir un nouveau mot de passe',
      expiry: `Le lien n’est valable qu’une seule fois, pendant ${durations.token} à compter de l’envoi de cet e‑mail. Seul le lien le plus récent fonctionne.`,
      requested: {
        plain: 'Demande effectuée le {when}.',
        fromDevice: 'Demande effectuée le {when}, depuis {device}.',
      },
      notYou:
        'Vous n’êtes pas à l’origine de cette demande ? Ignorez cet e‑mail : rien n’a changé.',
    },
    signIn: {
      subject: `Connectez-vous à ${app} via votre organisation`,
      title: 'Connectez-vous via votre organisation',
      body: `Votre compte ${app} n’a pas de mot de passe propre à réinitialiser. Connectez-vous via votre organisation avec cette adresse.`,
      button: 'Se connecter',
      requested: {
        plain: 'Demande effectuée le {when}.',
        fromDevice: 'Demande effectuée le {when}, depuis {device}.',
      },
      notYou:
        'Vous n’êtes pas à l’origine de cette demande ? Ignorez cet e‑mail : rien n’a changé.',
    },
    invitation: {
      subject: `Votre invitation à utiliser ${app}`,
      title: `Votre invitation à utiliser ${app}`,
      requested: {
        plain: 'Invitation envoyée le {when}.',
        fromDevice: 'Invitation envoyée le {when}, depuis {device}.',
      },
      notYou: 'Vous ne vous attendiez pas à cette invitation ? Ignorez cet e‑mail.',
      password: {
        body: `Votre compte ${app} est prêt. Ce lien vous permet de choisir votre mot de passe.`,
        button: 'Choisir un mot de passe',
        expiry: `Le lien n’est valable qu’une seule fois, pendant ${durations.invitation} à compter de l’envoi de cet e‑mail. Seul le lien le plus récent fonctionne.`,
      },
      sso: {
        body: `Votre compte ${app} est prêt. Connectez-vous via votre organisation avec cette adresse.`,
        button: 'Se connecter',
      },
    },
    changed: {
      subject: `Votre mot de passe ${app} a été modifié`,
      title: 'Votre mot de passe a été modifié',
      body: `Le mot de passe de votre compte ${app} a été modifié et vos sessions ont été fermées sur tous vos autres appareils.`,
      button: 'Demander un nouveau lien',
      requested: {
        plain: 'Modification effectuée le {when}.',
        fromDevice: 'Modification effectuée le {when}, depuis {device}.',
      },
      notYou:
        'Si vous êtes à l’origine de cette modification, vous n’avez rien à faire. Sinon, demandez un nouveau lien et choisissez tout de suite un autre mot de passe.',
      support:
        'Si vous n’êtes pas à l’origine de cette modification, son auteur a peut-être accès à vos e‑mails : modifiez aussi le mot de passe de votre messagerie et prévenez l’assistance.',
    },
    newDevice: {
      subject: `Nouvelle connexion à ${app}`,
      title: 'Nouvelle connexion à votre compte',
      body: `Une connexion à votre compte ${app} a eu lieu avec votre mot de passe, dans un navigateur où ce mot de passe n’avait pas encore été utilisé.`,
      button: 'Choisir un nouveau mot de passe',
      requested: {
        plain: 'Connexion effectuée le {when}.',
        fromDevice: 'Connexion effectuée le {when}, depuis {device}.',
      },
      notYou:
        'Si vous êtes à l’origine de cette connexion, vous n’avez rien à faire. Sinon, choisissez tout de suite un nouveau mot de passe.',
    },
    passkey: {
      button: 'Ouvrir votre compte',
      notYou:
        'Si vous êtes à l’origine de cette action, vous n’avez rien à faire. Sinon, supprimez les clés d’accès que vous ne connaissez pas et choisissez tout de suite un nouveau mot de passe.',
      support: 'Si vous ne vous y attendiez pas, prévenez aussi l’assistance.',
      added: {
        subject: `Une clé d’accès pour ${app} a été ajoutée`,
        title: 'Une clé d’accès a été ajoutée',
        body: `Une clé d’accès a été ajoutée à votre compte ${app}. Elle permet de se connecter sans votre mot de passe.`,
      },
      removed: {
        subject: `Une clé d’accès pour ${app} a été supprimée`,
        title: 'Une clé d’accès a été supprimée',
        body: `Une clé d’accès a été supprimée de votre compte ${app}. Elle ne permet plus de se connecter.`,
      },
      newDevice: {
        subject: `Nouvelle connexion à ${app}`,
        title: 'Nouvelle connexion à votre compte',
        body: `Une connexion à votre compte ${app} a eu lieu avec une clé d’accès, dans un navigateur où elle n’avait pas encore été utilisée.`,
      },
    },
    emailChanged: {
      subject: `L’adresse e‑mail de votre compte ${app} a été modifiée`,
      title: 'Votre adresse e‑mail a été modifiée',
      body: `Un administrateur a modifié l’adresse e‑mail de votre compte ${app}. Ce message est envoyé à l’ancienne et à la nouvelle adresse.`,
      next: 'Vos sessions ont été fermées sur tous vos appareils. Connectez-vous désormais avec la nouvelle adresse.',
      button: 'Se connecter',
      support:
        'Si vous ne vous attendiez pas à cette modification, prévenez l’assistance.',
    },
    operatorSignIn: {
      subject: `Un administrateur peut se connecter à votre compte ${app}`,
      title: 'Un administrateur peut se connecter en votre nom',
      body: `Un administrateur a obtenu un lien qui permet de se connecter une fois à votre compte ${app}, sans votre mot de passe.`,
      next: 'La page de votre compte affiche ces connexions et permet d’y mettre fin.',
      button: 'Ouvrir votre compte',
      support: 'Si vous ne vous y attendiez pas, prévenez l’assistance.',
      requested: {
        plain: 'C’était le {when}.',
        fromDevice: 'C’était le {when}, depuis {device}.',
      },
    },
    secondFactor: {
      button: 'Choisir un nouveau mot de passe',
      notYou:
        'Si vous êtes à l’origine de cette action, vous n’avez rien à faire. Sinon, choisissez tout de suite un autre mot de passe.',
      support: 'Si vous ne vous y attendiez pas, prévenez aussi l’assistance.',
      on: {
        subject: `La connexion à ${app} demande désormais un code`,
        title: 'Votre application d’authentification est configurée',
        body: `Lorsque vous vous connectez à votre compte ${app} avec votre mot de passe, nous demandons désormais aussi un code de votre application d’authentification. Vos sessions ont été fermées sur tous vos autres appareils.`,
      },
      off: {
        subject: `La connexion à ${app} ne demande plus de code`,
        title: 'Votre application d’authentification a été désactivée',
        body: `Lorsque vous vous connectez à votre compte ${app} avec votre mot de passe, nous ne demandons plus de code. Vos sessions ont été fermées sur tous vos autres appareils.`,
      },
      used: {
        subject: `Un code de récupération pour ${app} a été utilisé`,
        title: 'Un code de récupération a été utilisé',
        body: `Votre mot de passe et un code de récupération ont été utilisés pour se connecter à votre compte ${app}. Codes de récupération restants : {left}.`,
      },
      codes: {
        subject: `Nouveaux codes de récupération pour ${app}`,
        title: 'Vous avez de nouveaux codes de récupération',
        body: `De nouveaux codes de récupération ont été créés pour votre compte ${app}. Les anciens ne fonctionnent plus.`,
      },
      guesses: {
        subject: `Quelqu’un connaît peut-être votre mot de passe ${app}`,
        title: 'Codes incorrects après votre mot de passe',
        body: `Quelqu’un a saisi le mot de passe de votre compte ${app}, puis ${wrongCodes} codes incorrects de suite.`,
      },
    },
  },
  account: {
    title: 'Votre compte',
    password: 'Mot de passe',
    current: 'Mot de passe actuel',
    change: 'Modifier le mot de passe',
    wrong: 'Le mot de passe actuel est incorrect. Vérifiez-le, puis réessayez.',
    problems: {
      signInAgain: 'Reconnectez-vous pour modifier vos clés d’accès.',
      passkeyName: 'Saisissez un nom de 1 à 60 caractères.',
      limited:
        'Il y a eu trop de tentatives. Patientez quelques minutes, puis réessayez.',
      unknown:
        'Nous ne savons pas si votre mot de passe a été modifié. Patientez quelques secondes, puis réessayez, ou connectez-vous avec le nouveau.',
    },
    organization: 'La connexion de votre organisation protège votre compte.',
    sessions: 'Vos sessions ouvertes',
    thisDevice: 'Cet appareil',
    unknownDevice: 'Appareil inconnu',
    began: {
      password: 'Connexion avec votre mot de passe :',
      passkey: 'Connexion avec une clé d’accès :',
      connection: 'Connexion avec {name} :',
      sso: 'Connexion via votre organisation :',
      code: 'Connexion :',
      operator: 'Connexion d’un administrateur en votre nom :',
    },
    lastUsed: 'Dernière utilisation :',
    activeNow: 'Actif maintenant',
    done: {
      passkeyAdded:
        'Votre clé d’accès a été ajoutée. Vous pouvez désormais vous connecter avec elle.',
      passkeyRenamed: 'La clé d’accès a été renommée.',
      passkeyRemoved:
        'La clé d’accès a été supprimée. Vos sessions ont été fermées sur tous vos autres appareils.',
      changed:
        'Votre mot de passe a été modifié. Vos sessions ont été fermées sur tous vos autres appareils.',
      ended: 'La session a été fermée.',
      others: 'Toutes vos autres sessions ont été fermées.',
      setUp:
        'Votre application d’authentification est configurée. Toutes vos autres sessions ont été fermées.',
      newCodes:
        'Vous avez de nouveaux codes de récupération. Les anciens ne fonctionnent plus.',
      switchOff:
        'Votre application d’authentification est désactivée. Toutes vos autres sessions ont été fermées.',
    },
    events: {
      title: 'Activité récente',
      intro: `Ce qui s’est passé sur votre compte au cours des ${accountEventDays} derniers jours. Si vous n’en êtes pas à l’origine, modifiez votre mot de passe et prévenez l’assistance.`,
      show: 'Afficher l’activité',
      none: 'Rien pour l’instant.',
      byOther: 'Par un administrateur ou votre organisation',
      operator: 'Un administrateur s’est connecté en votre nom',
      kinds: {
        signed_in: 'Connexion',
        sign_in_failed: 'Échec de connexion',
        signed_out: 'Déconnexion',
        session_ended: 'Un appareil a été déconnecté',
        refresh_token_reused:
          'Un appareil a été déconnecté, car sa session a peut-être été copiée',
        password_reset: 'Nouveau mot de passe, avec un lien',
        password_changed: 'Mot de passe modifié',
        reset_link_issued: 'Un lien pour choisir un mot de passe a été créé',
        sign_in_link_issued:
          'Un administrateur a obtenu un lien pour se connecter en votre nom',
        second_factor_on: 'Application d’authentification configurée',
        second_factor_off: 'Application d’authentification désactivée',
        recovery_codes_replaced: 'Nouveaux codes de secours',
        passkey_added: 'Clé d’accès ajoutée',
        passkey_removed: 'Clé d’accès supprimée',
        user_disabled: 'Compte désactivé',
        user_enabled: 'Compte réactivé',
        user_renamed: 'Adresse e‑mail modifiée',
        user_linked: 'Compte lié à la connexion de votre organisation',
        user_unlinked: 'Compte dissocié de la connexion de votre organisation',
      },
    },
    signOutHere: 'Se déconnecter ici',
    signOutOthers: 'Se déconnecter partout ailleurs',
    factor: {
      titles: {
        setUp: 'Configurer l’application d’authentification',
        newCodes: 'Obtenir de nouveaux codes de récupération',
        switchOff: 'Désactiver l’application d’authentification',
      },
      noScript:
        'Cette page nécessite JavaScript. Activez-le dans les réglages de votre navigateur, puis rechargez cette page.',
      notLoaded:
        'Une partie de cette page est manquante. Vérifiez votre connexion, puis rechargez cette page.',
      name: 'Application d’authentification',
      off: 'Protégez mieux votre compte : après le mot de passe, nous vous demanderons un code d’une application de votre téléphone.',
      on: 'Lorsque vous vous connectez avec votre mot de passe, nous vous demandons un code.',
      onPasskey:
        'Après le mot de passe, nous vous demandons votre clé d’accès ou un code de récupération.',
      noCodes:
        'Vous vous connectez avec votre clé d’accès. Vous n’avez pas encore de codes de récupération : obtenez-en maintenant, au cas où vous la perdriez.',
      requiredAgain:
        'Un second facteur est obligatoire. À votre prochaine connexion avec le mot de passe, vous en configurerez un de nouveau.',
      requiredPasskey:
        'Un second facteur est obligatoire. Après le mot de passe, nous vous demanderons votre clé d’accès ou un code de récupération.',
      proven:
        'Vous venez de vous connecter avec votre clé d’accès : le mot de passe n’est pas nécessaire.',
      usePasskey: 'Utiliser plutôt votre clé d’accès',
      since: 'Activée depuis le',
      left: 'Codes de récupération restants :',
      actions: {
        setUp: 'Configurer',
        newCodes: 'Nouveaux codes de récupération',
        switchOff: 'Désactiver',
      },
      cancel: 'Annuler',
      add: 'Ajoutez ce compte à votre application',
      scan: 'Scannez ce code avec votre application.',
      qr: 'Code QR',
      open: 'Ouvrir l’application d’authentification',
      otherDevice: 'Afficher le code QR et la clé',
      key: 'Impossible de le scanner ? Saisissez cette clé dans votre application :',
      done: {
        setUp: 'Votre application d’authentification est activée',
        newCodes: 'Les nouveaux codes de récupération remplacent les anciens',
        passkey: 'Votre clé d’accès a été ajoutée',
      },
      save: 'Enregistrez vos codes de récupération',
      saveBody:
        'Si vous perdez votre téléphone, connectez-vous avec votre mot de passe et l’un de ces codes. Chaque code ne sert qu’une fois. Conservez-les en lieu sûr, par exemple dans un gestionnaire de mots de passe. Nous ne les afficherons plus.',
      codes: 'codes de récupération',
      download: 'Télécharger',
      saved: 'Je les ai enregistrés',
      lost: 'Vos codes de récupération n’ont pas été affichés',
      lostBody:
        'Votre second facteur est configuré, mais la connexion a été interrompue avant l’affichage de vos codes de récupération. Obtenez-en de nouveaux maintenant, afin de pouvoir vous connecter si vous perdez votre téléphone.',
      sending: 'Un instant…',
      limited: {
        title: 'Patientez un peu',
        body: 'Il y a eu trop de mots de passe ou de codes incorrects. Rien n’a été modifié.',
      },
      unavailable: {
        title: 'Impossible pour le moment',
        body: 'Rien n’a été modifié et votre saisie est conservée.',
      },
      unknown: {
        title: 'La connexion réseau a été interrompue',
        body: 'Nous ne savons pas si quelque chose a été modifié. Rechargez cette page pour le voir.',
      },
      failed: {
        title: 'Cela n’a pas fonctionné',
        body: 'Une erreur s’est produite de notre côté. Réessayez. Si le problème persiste, contactez l’assistance et indiquez la référence ci-dessous.',
      },
    },
  },
  passkey: {
    name: 'Clés d’accès',
    what: 'Une clé d’accès vous connecte avec votre empreinte digitale, votre visage ou un code PIN. Elle protège de l’hameçonnage.',
    signIn: 'Se connecter avec une clé d’accès',
    prompt: 'Suivez les étapes indiquées par votre appareil.',
    cancel: 'Annuler',
    add: 'Ajouter une clé d’accès',
    addTitle: 'Ajouter une clé d’accès',
    create: 'Créer une clé d’accès',
    offerTitle: 'Connectez-vous plus vite la prochaine fois',
    notNow: 'Pas maintenant',
    otherDevice:
      'Créez aussi une clé d’accès sur cet appareil, pour ne plus avoir besoin de l’autre la prochaine fois.',
    synced: 'Synchronisée',
    single: 'Sur un seul appareil',
    added: 'Ajoutée :',
    unused: 'Pas encore utilisée',
    rename: 'Renommer',
    label: 'Nom de la clé d’accès',
    save: 'Enregistrer',
    remove: 'Supprimer',
    removeBody:
      'Vous ne pourrez plus vous connecter avec elle, et vos sessions seront fermées sur tous vos autres appareils.',
    last: 'Vous vous connecterez avec votre mot de passe.',
    lastRequired:
      'À votre prochaine connexion avec le mot de passe, vous configurerez un second facteur.',
    removeThis: 'Supprimer cette clé d’accès',
    again: 'Se reconnecter',
    againBody:
      'Pour protéger votre compte, reconnectez-vous avant d’effectuer cette modification.',
    back: 'Retour à votre compte',
    exists: 'Cet appareil a déjà une clé d’accès pour votre compte.',
    signInProblems: {
      NotAllowedError:
        'Cela n’a pas fonctionné ou a été annulé. Réessayez, ou connectez-vous avec votre mot de passe.',
      SecurityError: 'Les clés d’accès ne fonctionnent pas à cette adresse.',
      browser:
        'Votre navigateur n’a pas pu utiliser de clé d’accès. Utilisez votre mot de passe.',
      CHALLENGE_INVALID: 'Cela a pris trop de temps. Réessayez.',
      unknown_passkey:
        'Cette clé d’accès a été supprimée de votre compte. Connectez-vous d’une autre manière.',
      user_not_verified:
        'Votre gestionnaire de mots de passe n’a pas vérifié votre identité. Activez son verrouillage ou son code PIN, ou utilisez votre mot de passe.',
      invalid:
        'Cette clé d’accès ne peut pas être utilisée. Connectez-vous d’une autre manière.',
    },
    addProblems: {
      cancelled:
        'Aucune clé d’accès n’a été créée. Réessayez. Si cet appareil en a déjà une pour votre compte, il ne vous en faut pas d’autre.',
      unsupported:
        'Cet appareil ou cette clé ne peut pas vérifier votre identité. Configurez un verrouillage d’écran ou un code PIN, ou utilisez un autre appareil.',
      address: 'Les clés d’accès ne fonctionnent pas à cette adresse.',
      browser:
        'Votre navigateur n’a pas pu utiliser de clé d’accès. Utilisez votre mot de passe.',
      expired: 'Cela a pris trop de temps. Réessayez.',
      unverified:
        'Votre gestionnaire de mots de passe n’a pas vérifié votre identité. Activez son verrouillage ou son code PIN, ou utilisez votre mot de passe.',
      invalid:
        'Cette clé d’accès ne peut pas être utilisée. Réessayez, ou utilisez un autre appareil.',
      conflict: `Cette clé d’accès ne peut pas être ajoutée : votre compte l’a déjà, ou il a ${maxPasskeys} clés d’accès.`,
    },
    unknown: {
      title: 'La connexion a été interrompue',
      body: 'Nous ne savons pas si la clé d’accès a été enregistrée. Consultez la liste dans votre compte.',
    },
  },
  secondFactor: {
    title: 'Confirmez que c’est bien vous',
    passkey: 'Utiliser votre clé d’accès',
    passkeyOnly: 'Utilisez la clé d’accès que vous avez ajoutée à votre compte.',
    passkeyProblems: {
      NotAllowedError: 'Cela n’a pas fonctionné ou a été annulé. Réessayez.',
      browser:
        'Votre navigateur n’a pas pu utiliser de clé d’accès. Essayez un autre navigateur ou un autre appareil.',
    },
    setUp: {
      title: 'Configurez un second facteur',
      body: 'Pour vous connecter, il vous faut un second facteur en plus du mot de passe.',
      app: 'Utiliser une application d’authentification',
      appBody:
        'Après le mot de passe, vous saisirez un code d’une application de votre téléphone.',
      instead: 'Utiliser plutôt une clé d’accès',
    },
    names: {
      code: 'Code de votre application d’authentification',
      recoveryCode: 'Code de récupération',
    },
    hint: {
      code: 'Six chiffres qui changent toutes les 30 secondes.',
      recoveryCode:
        'Vous avez enregistré ces codes en configurant le second facteur. Chacun fonctionne une fois.',
    },
    instead: {
      code: 'Utiliser un code de récupération',
      recoveryCode: 'Utiliser l’application d’authentification',
    },
    empty: { password: 'Saisissez votre mot de passe.', code: 'Saisissez un code.' },
    issues: {
      code: {
        wrong:
          'Ce code est incorrect. Vérifiez que votre téléphone règle l’heure automatiquement, puis saisissez le code le plus récent.',
        used: 'Ce code a déjà été utilisé. Attendez le suivant.',
      },
      recoveryCode: {
        wrong: 'Ce code de récupération est incorrect. Vérifiez-le, puis réessayez.',
        used: 'Ce code de récupération a déjà été utilisé. Saisissez-en un autre.',
      },
      locked:
        'Il y a eu trop de codes incorrects : ceux de votre application ne fonctionnent plus. Utilisez un code de récupération ou contactez votre service informatique.',
    },
    expired:
      'Le délai est dépassé ou votre compte a été modifié. Recommencez avec votre mot de passe.',
    unknown: {
      title: 'La connexion réseau a été interrompue',
      body: 'Nous ne savons pas si votre session est ouverte. Attendez le code suivant, puis saisissez-le.',
    },
  },
})
