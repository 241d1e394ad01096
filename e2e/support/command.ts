import { execFile } from 'node:child_process'
import { project } from '../../bin/local'

export type Ended = { code: number; stdout: string; stderr: string }

/** Runs a script of package.json with text on stdin, until it exits. */
export function runScript(command: string[], stdin = '', settings: Record<string, string> = {}): Promise<Ended> {
  const env = { ...process.env, ...settings }
  return new Promise((resolve) => {
    const child = execFile('npm', ['run', '--silent', ...command], { cwd: project, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
    child.stdin!.end(stdin)
  })
}

/** Runs `npm run connections`, and returns what it printed. Throws if it failed. */
export async function connections(parameters: string[], stdin = ''): Promise<string> {
  const { code, stdout, stderr } = await runScript(['connections', '--', ...parameters], stdin)
  if (code !== 0) throw new Error(`connections ${parameters[0]} exited with ${code}:\n${stdout}${stderr}`)
  return stdout
}
