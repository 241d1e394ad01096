import { accountEventDays } from '../contract/events'
import {
  maxPasskeys,
  noticedSecondFactorFailures as wrongCodes,
} from '../contract/lifetimes'
import { writeLifetimes } from './durations'
import type { Texts } from './en'

const durations = writeLifetimes('es', {
  60: 'un minuto',
  [20 * 60]: '20 minutos',
  [60 * 60]: '1 hora',
  [7 * 24 * 60 * 60]: '7 días',
})

export const es = (app: string, passwordMinLength: number): Texts => ({
  language: 'es',
  direction: 'ltr',
  app,
  shared: {
    requestId: 'Código de referencia para soporte:',
    copy: 'Copiar',
    copied: 'Copiado',
    errorPrefix: 'Error: ',
    tryAgain: 'Intentar de nuevo',
    waiting: 'Podrá intentarlo de nuevo {when}.',
    waitingForNetwork: 'Podrá intentarlo de nuevo cuando tenga conexión a internet.',
    waited: 'Ya puede intentarlo de nuevo.',
    offline: {
      title: 'No hay conexión a internet',
      body: 'No se ha enviado nada y lo que ha escrito sigue aquí.',
    },
    signIn: 'Iniciar sesión',
    signInAgain: 'Volver a iniciar sesión',
    goOn: 'Continuar',
    home: 'Ir a la página principal',
    noScript: 'Active JavaScript para continuar',
    notLoaded: 'Esta página no se ha cargado por completo',
    updated: {
      title: 'Esta página se ha actualizado',
      body: 'Vuelva a cargarla para continuar.',
      reload: 'Volver a cargar la página',
    },
  },
  footer: {
    help: 'Ayuda',
    privacy: 'Privacidad',
    terms: 'Condiciones de uso',
    language: 'Idioma',
  },
  home: {
    signedIn: 'Su sesión está abierta',
    as: 'Cuenta',
    until: 'Sesión abierta hasta el',
    open: `Abrir ${app}`,
    signOut: 'Cerrar sesión',
    signedOut: 'No hay ninguna sesión abierta',
    justSignedOut: 'Se ha cerrado su sesión',
    signedOutBody: `Inicie sesión para acceder a ${app}.`,
    signedOutWithoutLink: 'Vaya a la página donde suele iniciar sesión.',
    forgotPassword: '¿No recuerda su contraseña?',
  },
  signIn: {
    title: `Iniciar sesión en ${app}`,
    body: 'Con su correo de trabajo, iniciará sesión en su organización.',
    label: 'Correo electrónico',
    submit: 'Continuar',
    with: 'Continuar con {name}',
    or: 'o',
    invalidEmail:
      'Escriba una dirección de correo electrónico, por ejemplo, nombre@example.com.',
    unknownEmail:
      'No se puede iniciar sesión con esta dirección de correo electrónico. Compruebe que esté bien escrita o consulte con su departamento de informática.',
    mailLink: 'Recibir un enlace de inicio de sesión por correo',
    going: 'Abriendo la página de su organización',
    goingBody: 'Inicie sesión con {name}. Después volverá aquí.',
    password: 'Contraseña',
    usePassword: 'Iniciar sesión con contraseña',
    passwordTitle: 'Escriba su contraseña',
    change: 'Cambiar',
    changeLabel: 'Cambiar la dirección de correo electrónico',
    forgotPassword: '¿No recuerda su contraseña?',
    early: 'Cargando… El inicio de sesión continuará en cuanto esta página esté lista.',
    sending: 'Iniciando sesión',
    slow: 'Aún se está iniciando su sesión. No cierre esta página.',
    emptyPassword: 'Escriba su contraseña.',
    another: 'Usar otra cuenta',
    wrongPassword:
      'El correo electrónico o la contraseña no son correctos. Revise ambos e inténtelo de nuevo.',
    limited: {
      title: 'El inicio de sesión está en pausa',
      body: 'Ha habido demasiados intentos con esta dirección o desde su red.',
    },
    unavailable: {
      title: 'No se puede iniciar sesión en este momento',
      body: 'Su sesión no está abierta y lo que ha escrito sigue aquí.',
    },
    unknown: {
      title: 'Se ha perdido la conexión',
      body: 'No sabemos si su sesión está abierta. Inténtelo de nuevo.',
    },
    failed: {
      title: 'No se ha podido iniciar sesión',
      body: 'Se ha producido un error en nuestro sistema. Inténtelo de nuevo. Si el problema continúa, póngase en contacto con soporte e indique el código de referencia que aparece abajo.',
    },
  },
  notFound: {
    title: 'Página no encontrada',
    body: 'Si ha escrito la dirección web, compruebe que sea correcta. Si ha seguido un enlace, puede que esté incompleto o que ya no funcione.',
  },
  rateLimitedPage: {
    title: 'Demasiadas solicitudes desde su red',
    body: 'Podrá volver a abrir esta página {when}. No se ha perdido nada.',
    reload: 'Volver a abrir esta página',
  },
  longUrlPage: {
    title: 'La dirección web es demasiado larga',
    body: 'Es posible que el servicio de inicio de sesión de su organización le haya añadido demasiado. Inicie sesión de nuevo. Si sigue ocurriendo, avise a su administrador.',
  },
  authorizePage: {
    title: 'Este inicio de sesión no puede comenzar',
    body: 'La aplicación que le ha enviado aquí no está configurada para ello. Vuelva atrás e inténtelo de nuevo. Si sigue ocurriendo, avise a su soporte.',
  },
  singleLogoutPage: {
    title: `No se ha cerrado la sesión de ${app}`,
    body: `El servicio de inicio de sesión de su organización ha pedido cerrar la sesión, pero ${app} no lo admite. Si tenía una sesión abierta aquí, sigue abierta.`,
  },
  signOutPage: {
    title: '¿Quiere cerrar la sesión?',
    body: 'La sesión de {email} está abierta. También se cerrará en las aplicaciones que haya abierto con esta cuenta en este navegador.',
    stay: 'Mantener la sesión',
  },
  unavailablePage: {
    title: 'Esta página no está disponible en este momento',
    body: 'No se ha perdido nada. Espere unos segundos y vuelva a abrir esta página.',
  },
  error: {
    title: 'Se ha producido un error',
    body: 'El problema es nuestro, no suyo. Inténtelo de nuevo en unos instantes.',
  },
  sso: {
    noScript:
      'Esta página necesita JavaScript. Actívelo en la configuración del navegador y vuelva a iniciar sesión.',
    notLoaded:
      'Falta una parte de esta página. Compruebe la conexión y vuelva a iniciar sesión.',
    working: 'Iniciando sesión',
    workingBody: 'Será solo un momento.',
    slow: 'Aún se está iniciando su sesión. No cierre esta página.',
    done: 'Su sesión está abierta',
    doneBody: `En un momento se abrirá ${app}.`,
    already: {
      title: 'Su sesión ya está abierta',
      body: `Está usando la cuenta {email}. En un momento se abrirá ${app}.`,
    },
    used: {
      title: 'Este inicio de sesión no es válido',
      body: `Cada inicio de sesión sirve una sola vez, caduca al cabo de ${durations.code} y solo funciona en el navegador donde lo empezó. No hay ningún problema con su cuenta. Si su sesión ya está abierta, seleccione «Continuar». Si no, vuelva a iniciar sesión.`,
    },
    noCode: {
      title: 'No hemos encontrado su inicio de sesión',
      body: 'A esta página solo se llega justo después de iniciar sesión en su organización. Si su sesión ya está abierta, seleccione «Continuar». Si no, vuelva a iniciar sesión.',
    },
    limited: {
      title: 'Demasiadas solicitudes desde su red',
      body: 'Ha habido demasiados inicios de sesión desde su red. Su sesión aún no está abierta.',
    },
    limitedLong: {
      title: 'Demasiadas solicitudes desde su red',
      body: 'Ha habido demasiados inicios de sesión desde su red. Su sesión aún no está abierta. Podrá volver a iniciar sesión {when}.',
    },
    unavailable: {
      title: 'No se puede iniciar sesión en este momento',
      body: 'No se ha podido completar el inicio de sesión. No se ha perdido nada y no hay ningún problema con su cuenta.',
    },
    offline: {
      title: 'No hay conexión a internet',
      body: `No se ha enviado nada. Recupere la conexión e inténtelo de nuevo en menos de ${durations.code}. Si tarda más, vuelva a iniciar sesión.`,
    },
    unknown: {
      title: 'Se ha perdido la conexión',
      body: 'No sabemos si su sesión está abierta. Seleccione «Continuar» para comprobarlo.',
    },
    failed: {
      title: 'No se ha podido iniciar sesión',
      body: 'Se ha producido un error en nuestro sistema. Vuelva a iniciar sesión. Si el problema continúa, póngase en contacto con soporte e indique el código de referencia que aparece abajo.',
    },
    gaveUp: {
      title: 'El inicio de sesión sigue sin funcionar',
      body: 'No se ha podido completar el inicio de sesión. Espere unos minutos y vuelva a iniciar sesión.',
    },
    rejected: {
      access_denied: {
        title: 'No se ha iniciado su sesión',
        body: `Puede que haya cancelado el inicio de sesión o que su organización no le permita usar ${app}. Inténtelo de nuevo o pida a su departamento de informática que le dé acceso.`,
      },
      login_required: {
        title: 'Vuelva a iniciar sesión en su organización',
        body: 'Se ha cerrado su sesión en la organización. Vuelva a iniciarla para continuar.',
      },
      temporarily_unavailable: {
        title: 'El servicio de inicio de sesión de su organización no está disponible',
        body: 'En este momento, nadie puede iniciar sesión con ese servicio. Espere unos minutos y vuelva a iniciar sesión.',
      },
      server_error: {
        title: 'El servicio de inicio de sesión de su organización ha tenido un problema',
        body: 'Su sesión no está abierta. Vuelva a iniciar sesión. Si el problema continúa, avise a su departamento de informática.',
      },
      attempt_invalid: {
        title: 'No se puede continuar con este inicio de sesión',
        body: `Cada inicio de sesión sirve una sola vez, caduca al cabo de ${durations.signIn} y solo funciona en el navegador donde lo empezó. No hay ningún problema con su cuenta. Vuelva a iniciar sesión.`,
      },
      response_invalid: {
        title: 'No se ha podido verificar su inicio de sesión',
        body: 'La respuesta del servicio de inicio de sesión de su organización no era válida, así que no la hemos usado. Vuelva a iniciar sesión. Si el problema continúa, avise a su departamento de informática.',
      },
      no_access: {
        title: `No tiene acceso a ${app}`,
        body: `Ha iniciado sesión en su organización, pero su cuenta no se puede usar con ${app}. Inicie sesión de nuevo para elegir otra cuenta o pida acceso a su departamento de informática.`,
        as: `Ha iniciado sesión en su organización como {email}, pero esta cuenta no se puede usar con ${app}. Inicie sesión de nuevo para elegir otra cuenta o pida acceso a su departamento de informática.`,
        elsewhere: 'Iniciar sesión de otra forma',
      },
      connection_unavailable: {
        title: 'Esta forma de iniciar sesión no está disponible',
        body: 'Puede que se haya desactivado. Inicie sesión de otra forma o consulte con su departamento de informática.',
      },
      unavailable: {
        title: 'No se puede iniciar sesión en este momento',
        body: 'No se ha podido completar el inicio de sesión. No se ha perdido nada y no hay ningún problema con su cuenta. Espere unos minutos y vuelva a iniciar sesión.',
      },
      other: {
        title: 'Su organización no ha completado el inicio de sesión',
        body: 'El servicio de inicio de sesión de su organización ha informado de un error. Vuelva a iniciar sesión. Si el problema continúa, avise a su departamento de informática.',
      },
    },
  },
  passwordField: {
    capsLock: 'El bloqueo de mayúsculas está activado.',
    show: 'Mostrar',
    hide: 'Ocultar',
    showLabel: 'Mostrar la contraseña',
    hideLabel: 'Ocultar la contraseña',
    shown: 'La contraseña está visible.',
    hidden: 'La contraseña está oculta.',
  },
  reset: {
    noScript:
      'Esta página necesita JavaScript. Actívelo en la configuración del navegador y vuelva a abrir el enlace del correo que ha recibido.',
    notLoaded:
      'Falta una parte de esta página, así que aún no puede guardar su contraseña. Compruebe la conexión y vuelva a abrir el enlace del correo que ha recibido.',
    early: 'Cargando… Su contraseña se guardará en cuanto esta página esté lista.',
    form: 'Elija una contraseña nueva',
    formBody: `Al cambiar la contraseña, se cerrará su sesión de ${app} en todos sus dispositivos.`,
    label: 'Contraseña nueva',
    hint: `Use entre ${passwordMinLength} y 72 caracteres.`,
    tip: 'Consejo: tres palabras al azar forman una contraseña segura y fácil de recordar. Puede usar espacios.',
    account: 'Cuenta:',
    submit: 'Guardar contraseña',
    sending: 'Guardando la contraseña…',
    slow: 'Aún se está guardando su contraseña. No cierre esta página.',
    strength: {
      too_short: 'Aún es demasiado corta',
      too_long: 'Demasiado larga: 72 caracteres como máximo',
      invalid_characters: 'Tiene caracteres no permitidos',
      weak: 'Aún es fácil de adivinar',
      good: 'Buena: difícil de adivinar',
      strong: 'Muy segura',
      rejected: 'Esta contraseña no se puede usar',
    },
    emptyPassword: 'Escriba una contraseña nueva.',
    issues: {
      too_short: `La contraseña debe tener al menos ${passwordMinLength} caracteres.`,
      too_long:
        'La contraseña no puede tener más de 72 caracteres. Las letras con tilde, la ñ y los emojis cuentan como más de uno.',
      invalid_characters:
        'La contraseña solo puede tener caracteres que se puedan escribir con un teclado.',
      too_guessable: 'Elija una contraseña más difícil de adivinar.',
      breached: 'Elija otra contraseña. Esta ha aparecido en una filtración de datos.',
    },
    personal: `Elija una contraseña que no contenga el nombre ${app} ni ninguna parte de su dirección de correo electrónico.`,
    otherIssue: 'Elija otra contraseña. Esta no se puede usar.',
    done: {
      title: 'Se ha cambiado su contraseña',
      body: 'Se ha cerrado su sesión en todos los dispositivos. Inicie sesión con la contraseña nueva.',
    },
    stillNeeded: 'Si usa una aplicación de autenticación, la seguirá necesitando.',
    passkeysKept: 'Las llaves de acceso que conservó siguen funcionando.',
    removePasskeys: 'Quitar también todas mis llaves de acceso',
    removePasskeysHint: 'Hágalo si otra persona ha podido usar su cuenta.',
    used: {
      title: 'Este enlace ya se ha usado',
      body: 'Si ya ha cambiado su contraseña con este enlace, inicie sesión. Si no, pida un enlace nuevo.',
    },
    expired: {
      title: 'Este enlace ha caducado',
      body: 'Los enlaces para elegir la contraseña caducan al cabo de un tiempo. Pida uno nuevo para elegir su contraseña.',
    },
    invalid: {
      title: 'Este enlace no es válido',
      body: 'Puede que falte una parte o que se haya enviado otro más reciente. Abra el enlace del correo más reciente o copie el enlace completo en el navegador. También puede pedir un enlace nuevo.',
    },
    dead: {
      title: 'Este enlace ya no funciona',
      body: 'Los enlaces para elegir la contraseña se pueden usar una sola vez y caducan al cabo de un tiempo. Además, solo es válido el más reciente. Si ya ha cambiado su contraseña con este enlace, inicie sesión.',
    },
    noToken: {
      title: 'Abra el enlace del correo que ha recibido',
      body: 'Para elegir una contraseña nueva, use el enlace que le hemos enviado por correo electrónico. Si ha llegado aquí con «Abrir en el navegador», el enlace se ha perdido: vuelva al correo, copie el enlace y péguelo en el navegador.',
    },
    newLink: 'Pedir un enlace nuevo',
    newLinkWithoutPlace:
      'Para pedir un enlace nuevo, seleccione la opción para recuperar la contraseña en la página donde suele iniciar sesión.',
    limited: {
      title: 'Demasiadas solicitudes desde su red',
      body: 'No se ha cambiado su contraseña y lo que ha escrito sigue aquí.',
    },
    unavailable: {
      title: 'No se puede guardar su contraseña en este momento',
      body: 'No se ha cambiado su contraseña. El enlace no se ha usado y lo que ha escrito sigue aquí.',
    },
    unknown: {
      title: 'Se ha perdido la conexión',
      body: 'No sabemos si se ha cambiado su contraseña. Intente iniciar sesión con la contraseña nueva. Si no funciona, pida un enlace nuevo.',
    },
    failed: {
      title: 'No se ha podido cambiar su contraseña',
      body: 'Se ha producido un error en nuestro sistema. Vuelva a abrir el enlace del correo que ha recibido. Si el problema continúa, póngase en contacto con soporte e indique el código de referencia que aparece abajo.',
    },
    gaveUp: {
      title: 'Seguimos sin poder guardar su contraseña',
      body: 'No se ha cambiado su contraseña y lo que ha escrito sigue aquí. También puede volver más tarde con el enlace del correo que ha recibido, mientras siga siendo válido.',
    },
  },
  forgot: {
    title: 'Restablezca su contraseña',
    body: 'Escriba su dirección de correo electrónico y le enviaremos un enlace.',
    label: 'Correo electrónico',
    invalidEmail:
      'Escriba una dirección de correo electrónico, por ejemplo, nombre@example.com.',
    submit: 'Enviar enlace',
    sending: 'Enviando el enlace…',
    limited: {
      title: 'Demasiadas solicitudes desde su red',
      body: 'No se ha enviado nada y lo que ha escrito sigue aquí.',
    },
    unavailable: {
      title: 'No se puede enviar un enlace en este momento',
      body: 'No se ha enviado nada y lo que ha escrito sigue aquí.',
    },
    unknown: {
      title: 'Se ha perdido la conexión',
      body: 'No sabemos si se ha enviado un enlace. Revise su correo electrónico o inténtelo de nuevo.',
    },
    failed: {
      title: 'No se puede enviar un enlace en este momento',
      body: 'Se ha producido un error en nuestro sistema. Inténtelo de nuevo. Si el problema continúa, póngase en contacto con soporte e indique el código de referencia que aparece abajo.',
    },
    sent: {
      title: 'Revise su correo electrónico',
      body: `Hemos enviado un enlace a {email}, si tiene una cuenta. El enlace se puede usar una sola vez y caduca al cabo de ${durations.token}. Solo es válido el más reciente.`,
      address: 'la dirección que ha escrito',
      missing:
        '¿No ha recibido nada al cabo de unos minutos? Revise la carpeta de correo no deseado (spam), compruebe la dirección y pida otro enlace.',
      open: 'Abrir {name}',
      again: 'Pedir otro enlace',
      waiting: 'Podrá pedir otro enlace {when}.',
      waited: 'Ya puede pedir otro enlace.',
    },
  },
  mail: {
    link: 'Si el botón no funciona, copie esta dirección y péguela en el navegador:',
    account: 'Cuenta: {email}',
    device: '{browser} en {system}',
    reset: {
      subject: `Elija una contraseña nueva para ${app}`,
      title: 'Elija una contraseña nueva',
      body: `Con este enlace puede elegir una contraseña nueva para su cuenta de ${app}.`,
      button: 'Elegir una contraseña nueva',
      expiry: `El enlace se puede usar una sola vez y caduca ${durations.token} después del envío de este correo. Solo es válido el enlace más reciente.`,
      requested: {
        plain: 'Este enlace se pidió el {when}.',
        fromDevice: 'Este enlace se pidió el {when}, desde {device}.',
      },
      notYou: '¿No lo pidió usted? Ignore este correo: no se ha cambiado nada.',
    },
    signIn: {
      subject: `Inicie sesión en ${app} a través de su organización`,
      title: 'Inicie sesión a través de su organización',
      body: `Su cuenta de ${app} no tiene una contraseña propia que se pueda restablecer. Inicie sesión a través de su organización con esta dirección.`,
      button: 'Iniciar sesión',
      requested: {
        plain: 'Este enlace se pidió el {when}.',
        fromDevice: 'Este enlace se pidió el {when}, desde {device}.',
      },
      notYou: '¿No lo pidió usted? Ignore este correo: no se ha cambiado nada.',
    },
    invitation: {
      subject: `Su invitación a ${app}`,
      title: `Su invitación a ${app}`,
      requested: {
        plain: 'La invitación se envió el {when}.',
        fromDevice: 'La invitación se envió el {when}, desde {device}.',
      },
      notYou: '¿No esperaba esta invitación? Ignore este correo.',
      password: {
        body: `Su cuenta de ${app} está lista. Con este enlace puede elegir su contraseña.`,
        button: 'Elegir una contraseña',
        expiry: `El enlace se puede usar una sola vez y caduca ${durations.invitation} después del envío de este correo. Solo es válido el enlace más reciente.`,
      },
      sso: {
        body: `Su cuenta de ${app} está lista. Inicie sesión a través de su organización con esta dirección.`,
        button: 'Iniciar sesión',
      },
    },
    changed: {
      subject: `Se ha cambiado su contraseña de ${app}`,
      title: 'Se ha cambiado su contraseña',
      body: `Se ha cambiado la contraseña de su cuenta de ${app} y se ha cerrado la sesión en todos los demás dispositivos.`,
      button: 'Pedir un enlace nuevo',
      requested: {
        plain: 'El cambio se hizo el {when}.',
        fromDevice: 'El cambio se hizo el {when}, desde {device}.',
      },
      notYou:
        'Si fue usted, no tiene que hacer nada. Si no fue usted, pida un enlace nuevo y elija otra contraseña ahora mismo.',
      support:
        'Si no fue usted, es posible que otra persona pueda leer sus correos: cambie también la contraseña de su cuenta de correo electrónico y avise a soporte.',
    },
    newDevice: {
      subject: `Nuevo inicio de sesión en ${app}`,
      title: 'Nuevo inicio de sesión en su cuenta',
      body: `Se ha iniciado sesión en su cuenta de ${app} con su contraseña, en un navegador en el que esta contraseña no se había usado antes.`,
      button: 'Elegir una contraseña nueva',
      requested: {
        plain: 'El inicio de sesión fue el {when}.',
        fromDevice: 'El inicio de sesión fue el {when}, desde {device}.',
      },
      notYou:
        'Si fue usted, no tiene que hacer nada. Si no fue usted, elija una contraseña nueva ahora mismo.',
    },
    passkey: {
      button: 'Abrir su cuenta',
      notYou:
        'Si fue usted, no tiene que hacer nada. Si no fue usted, quite las llaves de acceso que no conozca y elija una contraseña nueva ahora mismo.',
      support: 'Si no lo esperaba, avise también a soporte.',
      added: {
        subject: `Se ha añadido una llave de acceso de ${app}`,
        title: 'Se ha añadido una llave de acceso',
        body: `Se ha añadido una llave de acceso a su cuenta de ${app}. Permite iniciar sesión sin su contraseña.`,
      },
      removed: {
        subject: `Se ha quitado una llave de acceso de ${app}`,
        title: 'Se ha quitado una llave de acceso',
        body: `Se ha quitado una llave de acceso de su cuenta de ${app}. Ya no permite iniciar sesión.`,
      },
      newDevice: {
        subject: `Nuevo inicio de sesión en ${app}`,
        title: 'Nuevo inicio de sesión en su cuenta',
        body: `Se ha iniciado sesión en su cuenta de ${app} con una llave de acceso, en un navegador en el que no se había usado antes.`,
      },
    },
    emailChanged: {
      subject: `Se ha cambiado la dirección de correo electrónico de su cuenta de ${app}`,
      title: 'Se ha cambiado su dirección de correo electrónico',
      body: `Un administrador ha cambiado la dirección de correo electrónico de su cuenta de ${app}. Este mensaje se envía a la dirección anterior y a la nueva.`,
      next: 'Se ha cerrado la sesión en todos los dispositivos. A partir de ahora, inicie sesión con la dirección nueva.',
      button: 'Iniciar sesión',
      support: 'Si no esperaba este cambio, avise a soporte.',
    },
    operatorSignIn: {
      subject: `Un administrador puede iniciar sesión en su cuenta de ${app}`,
      title: 'Un administrador puede iniciar sesión en su nombre',
      body: `Un administrador ha obtenido un enlace para iniciar sesión una vez en su cuenta de ${app}, sin su contraseña.`,
      next: 'La página de su cuenta muestra estos inicios de sesión y permite cerrarlos.',
      button: 'Abrir su cuenta',
      support: 'Si no lo esperaba, avise a soporte.',
      requested: {
        plain: 'Fue el {when}.',
        fromDevice: 'Fue el {when}, desde {device}.',
      },
    },
    secondFactor: {
      button: 'Elegir una contraseña nueva',
      notYou:
        'Si fue usted, no tiene que hacer nada. Si no fue usted, elija otra contraseña ahora mismo.',
      support: 'Si no lo esperaba, avise también a soporte.',
      on: {
        subject: `El inicio de sesión en ${app} pide ahora un código`,
        title: 'Su aplicación de autenticación está configurada',
        body: `Cuando inicie sesión en su cuenta de ${app} con la contraseña, ahora también pediremos un código de su aplicación de autenticación. Se ha cerrado la sesión en todos los demás dispositivos.`,
      },
      off: {
        subject: `El inicio de sesión en ${app} ya no pide un código`,
        title: 'Se ha desactivado su aplicación de autenticación',
        body: `Cuando inicie sesión en su cuenta de ${app} con la contraseña, ya no pediremos un código. Se ha cerrado la sesión en todos los demás dispositivos.`,
      },
      used: {
        subject: `Se ha usado un código de recuperación de ${app}`,
        title: 'Se ha usado un código de recuperación',
        body: `Se han usado su contraseña y un código de recuperación para iniciar sesión en su cuenta de ${app}. Códigos de recuperación restantes: {left}.`,
      },
      codes: {
        subject: `Códigos de recuperación nuevos de ${app}`,
        title: 'Tiene códigos de recuperación nuevos',
        body: `Se han creado códigos de recuperación nuevos para su cuenta de ${app}. Los anteriores ya no sirven.`,
      },
      guesses: {
        subject: `Es posible que alguien conozca su contraseña de ${app}`,
        title: 'Códigos incorrectos después de su contraseña',
        body: `Alguien ha introducido la contraseña de su cuenta de ${app} y, a continuación, ${wrongCodes} códigos incorrectos seguidos.`,
      },
    },
  },
  account: {
    title: 'Su cuenta',
    password: 'Contraseña',
    current: 'Contraseña actual',
    change: 'Cambiar contraseña',
    wrong: 'La contraseña actual no es correcta. Revísela e inténtelo de nuevo.',
    problems: {
      signInAgain: 'Vuelva a iniciar sesión para cambiar sus llaves de acceso.',
      passkeyName: 'Escriba un nombre de 1 a 60 caracteres.',
      limited: 'Ha habido demasiados intentos. Espere unos minutos e inténtelo de nuevo.',
      unknown:
        'No sabemos si se ha cambiado su contraseña. Espere unos segundos e inténtelo de nuevo, o inicie sesión con la nueva.',
    },
    organization: 'El inicio de sesión de su organización protege su cuenta.',
    sessions: 'Sus sesiones abiertas',
    thisDevice: 'Este dispositivo',
    unknownDevice: 'Dispositivo desconocido',
    began: {
      password: 'Inicio de sesión con su contraseña:',
      passkey: 'Inicio de sesión con una llave de acceso:',
      connection: 'Inicio de sesión con {name}:',
      sso: 'Inicio de sesión a través de su organización:',
      code: 'Inicio de sesión:',
      operator: 'Un administrador inició sesión en su nombre:',
    },
    lastUsed: 'Último uso:',
    activeNow: 'Activa ahora',
    done: {
      passkeyAdded:
        'Se ha añadido su llave de acceso. A partir de ahora puede iniciar sesión con ella.',
      passkeyRenamed: 'Se ha cambiado el nombre de la llave de acceso.',
      passkeyRemoved:
        'Se ha quitado la llave de acceso. Se ha cerrado la sesión en todos los demás dispositivos.',
      changed:
        'Se ha cambiado su contraseña y se ha cerrado la sesión en todos los demás dispositivos.',
      ended: 'Se ha cerrado esa sesión.',
      others: 'Se han cerrado todas las demás sesiones.',
      setUp:
        'Su aplicación de autenticación está configurada. Se han cerrado todas las demás sesiones.',
      newCodes: 'Tiene códigos de recuperación nuevos. Los anteriores ya no sirven.',
      switchOff:
        'Su aplicación de autenticación está desactivada. Se han cerrado todas las demás sesiones.',
    },
    events: {
      title: 'Actividad reciente',
      intro: `Lo que ha ocurrido en su cuenta en los últimos ${accountEventDays} días. Si algo no fue cosa suya, cambie su contraseña y avise a soporte.`,
      show: 'Mostrar la actividad',
      none: 'Todavía no ha ocurrido nada.',
      byOther: 'Por un administrador o su organización',
      operator: 'Un administrador inició sesión en su nombre',
      kinds: {
        signed_in: 'Inicio de sesión',
        sign_in_failed: 'Inicio de sesión fallido',
        signed_out: 'Cierre de sesión',
        session_ended: 'Se cerró la sesión en un dispositivo',
        refresh_token_reused:
          'Se cerró la sesión en un dispositivo, porque es posible que se haya copiado',
        password_reset: 'Contraseña nueva, con un enlace',
        password_changed: 'Contraseña cambiada',
        reset_link_issued: 'Se creó un enlace para elegir una contraseña',
        sign_in_link_issued:
          'Un administrador obtuvo un enlace para iniciar sesión en su nombre',
        second_factor_on: 'Aplicación de autenticación configurada',
        second_factor_off: 'Aplicación de autenticación desactivada',
        recovery_codes_replaced: 'Códigos de recuperación nuevos',
        passkey_added: 'Llave de acceso añadida',
        passkey_removed: 'Llave de acceso eliminada',
        user_disabled: 'Cuenta desactivada',
        user_enabled: 'Cuenta activada',
        user_renamed: 'Dirección de correo electrónico cambiada',
        user_linked: 'Cuenta vinculada al inicio de sesión de su organización',
        user_unlinked: 'Cuenta desvinculada del inicio de sesión de su organización',
      },
    },
    signOutHere: 'Cerrar sesión aquí',
    signOutOthers: 'Cerrar las demás sesiones',
    factor: {
      titles: {
        setUp: 'Configurar la aplicación de autenticación',
        newCodes: 'Obtener códigos de recuperación nuevos',
        switchOff: 'Desactivar la aplicación de autenticación',
      },
      noScript:
        'Esta página necesita JavaScript. Actívelo en la configuración de su navegador y vuelva a cargar esta página.',
      notLoaded:
        'Falta una parte de esta página. Revise su conexión y vuelva a cargar esta página.',
      name: 'Aplicación de autenticación',
      off: 'Proteja mejor su cuenta: después de la contraseña, le pediremos un código de una aplicación de su teléfono.',
      on: 'Cuando inicia sesión con su contraseña, le pedimos un código.',
      onPasskey:
        'Después de la contraseña, le pedimos su llave de acceso o un código de recuperación.',
      noCodes:
        'Inicia sesión con su llave de acceso. Todavía no tiene códigos de recuperación: obténgalos ahora, por si la pierde.',
      requiredAgain:
        'Se exige un segundo factor. La próxima vez que inicie sesión con su contraseña, volverá a configurar uno.',
      requiredPasskey:
        'Se exige un segundo factor. Después de la contraseña, le pediremos su llave de acceso o un código de recuperación.',
      proven:
        'Acaba de iniciar sesión con su llave de acceso, así que no necesita la contraseña.',
      usePasskey: 'Usar la llave de acceso en su lugar',
      since: 'Activada desde el',
      left: 'Códigos de recuperación restantes:',
      actions: {
        setUp: 'Configurar',
        newCodes: 'Nuevos códigos de recuperación',
        switchOff: 'Desactivar',
      },
      cancel: 'Cancelar',
      add: 'Añada esta cuenta a su aplicación',
      scan: 'Escanee este código con su aplicación.',
      qr: 'Código QR',
      open: 'Abrir la aplicación de autenticación',
      otherDevice: 'Mostrar el código QR y la clave',
      key: '¿No puede escanearlo? Escriba esta clave en su aplicación:',
      done: {
        setUp: 'Su aplicación de autenticación está activada',
        newCodes: 'Los nuevos códigos de recuperación sustituyen a los anteriores',
        passkey: 'Su llave de acceso se ha añadido',
      },
      save: 'Guarde sus códigos de recuperación',
      saveBody:
        'Si pierde su teléfono, inicie sesión con su contraseña y uno de estos códigos. Cada código sirve una sola vez. Guárdelos en un lugar seguro, como un gestor de contraseñas. No volveremos a mostrarlos.',
      codes: 'códigos de recuperación',
      download: 'Descargar',
      saved: 'Ya los he guardado',
      lost: 'No se mostraron sus códigos de recuperación',
      lostBody:
        'Su segundo factor está configurado, pero la conexión se perdió antes de poder mostrar sus códigos de recuperación. Obtenga otros nuevos ahora para poder iniciar sesión si pierde el teléfono.',
      sending: 'Un momento…',
      limited: {
        title: 'Tendrá que esperar un poco',
        body: 'Ha habido demasiadas contraseñas o códigos incorrectos. No ha cambiado nada.',
      },
      unavailable: {
        title: 'No es posible en este momento',
        body: 'No ha cambiado nada y lo que ha escrito sigue aquí.',
      },
      unknown: {
        title: 'Se ha perdido la conexión',
        body: 'No sabemos si ha cambiado algo. Vuelva a cargar esta página para verlo.',
      },
      failed: {
        title: 'No ha funcionado',
        body: 'Se ha producido un error en nuestro sistema. Inténtelo de nuevo. Si el problema continúa, póngase en contacto con soporte e indique el código de referencia que aparece abajo.',
      },
    },
  },
  passkey: {
    name: 'Llaves de acceso',
    what: 'Con una llave de acceso inicia sesión con su huella, su cara o un PIN. Protege contra la suplantación.',
    signIn: 'Iniciar sesión con una llave de acceso',
    prompt: 'Siga los pasos que muestra su dispositivo.',
    cancel: 'Cancelar',
    add: 'Añadir una llave de acceso',
    addTitle: 'Añadir una llave de acceso',
    create: 'Crear una llave de acceso',
    offerTitle: 'Inicie sesión más rápido la próxima vez',
    notNow: 'Ahora no',
    otherDevice:
      'Cree también una llave de acceso en este dispositivo, para no necesitar el otro la próxima vez.',
    synced: 'Sincronizada',
    single: 'Solo en un dispositivo',
    added: 'Añadida:',
    unused: 'Aún sin usar',
    rename: 'Cambiar el nombre',
    label: 'Nombre de la llave de acceso',
    save: 'Guardar',
    remove: 'Quitar',
    removeBody:
      'Ya no podrá iniciar sesión con ella, y se cerrará la sesión en todos los demás dispositivos.',
    last: 'Iniciará sesión con su contraseña.',
    lastRequired:
      'La próxima vez que inicie sesión con su contraseña, configurará un segundo factor.',
    removeThis: 'Quitar esta llave de acceso',
    again: 'Volver a iniciar sesión',
    againBody:
      'Para proteger su cuenta, vuelva a iniciar sesión antes de hacer este cambio.',
    back: 'Volver a su cuenta',
    exists: 'Este dispositivo ya tiene una llave de acceso para su cuenta.',
    signInProblems: {
      NotAllowedError:
        'No ha funcionado o se ha cancelado. Inténtelo de nuevo, o inicie sesión con su contraseña.',
      SecurityError: 'Las llaves de acceso no funcionan en esta dirección.',
      browser: 'Su navegador no ha podido usar una llave de acceso. Use su contraseña.',
      CHALLENGE_INVALID: 'Ha tardado demasiado. Inténtelo de nuevo.',
      unknown_passkey:
        'Esta llave de acceso se ha quitado de su cuenta. Inicie sesión de otra forma.',
      user_not_verified:
        'Su gestor de contraseñas no ha comprobado que es usted. Active su bloqueo de pantalla o su PIN, o use su contraseña.',
      invalid: 'Esta llave de acceso no se puede usar. Inicie sesión de otra forma.',
    },
    addProblems: {
      cancelled:
        'No se ha creado ninguna llave de acceso. Inténtelo de nuevo. Si este dispositivo ya tiene una para su cuenta, no necesita otra.',
      unsupported:
        'Este dispositivo o esta llave no puede comprobar que es usted. Configure un bloqueo de pantalla o un PIN, o use otro dispositivo.',
      address: 'Las llaves de acceso no funcionan en esta dirección.',
      browser: 'Su navegador no ha podido usar una llave de acceso. Use su contraseña.',
      expired: 'Ha tardado demasiado. Inténtelo de nuevo.',
      unverified:
        'Su gestor de contraseñas no ha comprobado que es usted. Active su bloqueo de pantalla o su PIN, o use su contraseña.',
      invalid:
        'Esta llave de acceso no se puede usar. Inténtelo de nuevo, o use otro dispositivo.',
      conflict: `Esta llave de acceso no se puede añadir: su cuenta ya la tiene, o tiene ${maxPasskeys} llaves de acceso.`,
    },
    unknown: {
      title: 'Se ha perdido la conexión',
      body: 'No sabemos si se ha guardado la llave de acceso. Mire la lista de su cuenta.',
    },
  },
  secondFactor: {
    title: 'Confirme que es usted',
    passkey: 'Usar su llave de acceso',
    passkeyOnly: 'Use la llave de acceso que añadió a su cuenta.',
    passkeyProblems: {
      NotAllowedError: 'No ha funcionado o se ha cancelado. Inténtelo de nuevo.',
      browser:
        'Su navegador no ha podido usar una llave de acceso. Pruebe con otro navegador o dispositivo.',
    },
    setUp: {
      title: 'Configure un segundo factor',
      body: 'Para iniciar sesión, necesita un segundo factor además de la contraseña.',
      app: 'Usar una aplicación de autenticación',
      appBody:
        'Después de la contraseña, introducirá un código de una aplicación de su teléfono.',
      instead: 'Usar una llave de acceso en su lugar',
    },
    names: {
      code: 'Código de su aplicación de autenticación',
      recoveryCode: 'Código de recuperación',
    },
    hint: {
      code: 'Seis cifras que cambian cada 30 segundos.',
      recoveryCode:
        'Guardó estos códigos al configurar el segundo factor. Cada uno sirve una vez.',
    },
    instead: {
      code: 'Usar un código de recuperación',
      recoveryCode: 'Usar la aplicación de autenticación',
    },
    empty: { password: 'Escriba su contraseña.', code: 'Escriba un código.' },
    issues: {
      code: {
        wrong:
          'Este código no es correcto. Compruebe que su teléfono ajusta la hora automáticamente y escriba el código más reciente.',
        used: 'Este código ya se ha usado. Espere al siguiente.',
      },
      recoveryCode: {
        wrong:
          'Este código de recuperación no es correcto. Revíselo e inténtelo de nuevo.',
        used: 'Este código de recuperación ya se ha usado. Escriba otro.',
      },
      locked:
        'Ha habido demasiados códigos incorrectos, por lo que los de su aplicación ya no sirven. Use un código de recuperación o consulte con su departamento de informática.',
    },
    expired:
      'Ha pasado demasiado tiempo o su cuenta ha cambiado. Empiece de nuevo con su contraseña.',
    unknown: {
      title: 'Se ha perdido la conexión',
      body: 'No sabemos si su sesión está abierta. Espere al siguiente código y escríbalo.',
    },
  },
})
