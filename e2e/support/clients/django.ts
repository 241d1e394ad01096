import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { startOwnServer } from './own-server'
import { type ClientValues, cutOut, type RealClient } from './recipe'

/** The settings of a project to which the recipe is added. */
const project = `import os
DEBUG = False
SECRET_KEY = os.environ['SECRET_KEY']
ALLOWED_HOSTS = ['127.0.0.1']
ROOT_URLCONF = 'sign_in'
DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': __file__ + '.sqlite'}}
DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'
INSTALLED_APPS = [
    'django.contrib.auth',
    'django.contrib.contenttypes',
    'django.contrib.sessions',
]
MIDDLEWARE = [
    'django.contrib.sessions.middleware.SessionMiddleware',
    'django.middleware.csrf.CsrfViewMiddleware',
    'django.contrib.auth.middleware.AuthenticationMiddleware',
]
`

/** Starts a Django project with the recipe for Debian's social-auth-core. */
export function startDjango(values: ClientValues): Promise<RealClient> {
  const { issuer, slug, secret, port, redirectUri } = values
  const python = '/usr/bin/python3'
  const addSettings = (path: string) => ({
    DJANGO_SETTINGS_MODULE: 'settings',
    PYTHONPATH: dirname(path),
    SECRET_KEY: randomBytes(32).toString('hex'),
  })
  const settings = cutOut('django-settings', {
    'https://login.example.com': issuer,
    "KEY = 'app'": `KEY = '${slug}'`,
    'COOKIE_SECURE = True': 'COOKIE_SECURE = False',
    'IS_HTTPS = True': 'IS_HTTPS = False',
  })

  return startOwnServer(
    {
      recipe: 'django',
      replaced: {},
      file: 'sign_in.py',
      command: (path) => {
        writeFileSync(`${dirname(path)}/settings.py`, project + settings)
        execFileSync(python, ['-m', 'django', 'migrate'], {
          env: { ...process.env, CLIENT_SECRET: secret, ...addSettings(path) },
          stdio: ['ignore', 'ignore', 'pipe'],
        })
        return [python, '-m', 'django', 'runserver', '--noreload', `127.0.0.1:${port}`]
      },
      settings: addSettings,
      begin: async (browser) => {
        const url = new URL('/login/oidc/?next=/', redirectUri).href
        return (await browser.get(url, { maxRedirects: 0 })).headers().location!
      },
    },
    values,
  )
}
