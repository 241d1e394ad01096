import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { project } from '../../../bin/dev/local'
import { cutOut } from '../clients/recipe'
import { temporaryFolder } from '../servers/program'

/** What verifies session JWTs. */
export type Verifier = {
  /** Returns `sub` of a JWT that is accepted, or null. */
  verify: (token: string) => Promise<string | null>
  stop: () => Promise<void>
}

type Language = {
  file: string
  /** What follows the recipe. Reads tokens from stdin, and prints one line for each. */
  loop: string
  command: string[]
}

const scripts: Record<'python' | 'ruby' | 'perl', Language> = {
  python: {
    file: 'verify.py',
    loop: `
import sys
for line in sys.stdin:
    try:
        print("accepted", verify_session(line.strip())["sub"], flush=True)
    except jwt.PyJWTError as error:
        print("rejected", error, flush=True)
`,
    command: ['/usr/bin/python3'], // for Debian's packages
  },
  ruby: {
    file: 'verify.rb',
    loop: `
$stdout.sync = true
$stdin.each_line do |line|
  puts "accepted #{verify_session(line.strip)["sub"]}"
rescue JWT::DecodeError => error
  puts "rejected #{error.message.lines.first}"
end
`,
    command: ['/usr/bin/ruby'],
  },
  perl: {
    file: 'verify.pl',
    loop: `
$| = 1;
while (my $token = <STDIN>) {
    chomp $token;
    my $claims = eval { verify_session($token) };
    my ($reason) = split /\\n/, $@;
    say $claims ? "accepted $claims->{sub}" : "rejected $reason";
}
`,
    command: ['/usr/bin/perl'],
  },
}

const goLoop = `package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		session, err := VerifySession(context.Background(), lines.Text())
		if err != nil {
			fmt.Println("rejected", err)
		} else {
			fmt.Println("accepted", session.Subject)
		}
	}
}
`

/** Starts a program with the recipe of a language, with other texts in it. */
export async function startScript(
  language: keyof typeof scripts,
  issuer: string,
  otherTexts: Record<string, string> = {},
): Promise<Verifier> {
  const { file, loop, command } = scripts[language]
  const folder = temporaryFolder(`verify-${language}`)
  const path = `${folder.path}/${file}`
  const replaced = { 'https://login.example.com': issuer, ...otherTexts }
  writeFileSync(path, cutOut(`verify-${language}`, replaced) + loop)

  return startVerifier([...command, path], folder)
}

/** Compiles and starts a program with the recipe for Go. */
export async function startGo(issuer: string): Promise<Verifier> {
  const folder = temporaryFolder('verify-go')
  const recipe = cutOut('verify-go', { 'https://login.example.com': issuer })
  writeFileSync(`${folder.path}/verify.go`, recipe)
  writeFileSync(`${folder.path}/main.go`, goLoop)

  const program = `${folder.path}/verify`
  execFileSync('/usr/bin/go', ['build', '-o', program, '.'], {
    cwd: folder.path,
    env: {
      ...process.env,
      GO111MODULE: 'off',
      GOPATH: '/usr/share/gocode', // Debian's packages
      GOCACHE: `${project}e2e/results/go-cache`,
      GOFLAGS: '',
    },
    stdio: 'pipe',
  })

  return startVerifier([program], folder)
}

function startVerifier(
  [program, ...parameters]: string[],
  folder: ReturnType<typeof temporaryFolder>,
): Verifier {
  const child = spawn(program!, parameters, { stdio: 'pipe' })
  const errors: string[] = []
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk.toString()))
  const exited = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()

  return {
    verify: async (token) => {
      child.stdin.write(`${token}\n`)
      const { value } = await lines.next()
      const [, verdict, text] = /^(accepted|rejected) (.*)$/.exec(value ?? '') ?? []
      if (!verdict) throw new Error(`${program} printed ${value}\n${errors.join('')}`)

      return verdict === 'accepted' ? text! : null
    },
    stop: async () => {
      child.stdin.end()
      await exited
      folder.remove()
    },
  }
}
