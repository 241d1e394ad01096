import { readdirSync, readFileSync } from 'node:fs'
import { project } from '../../../bin/dev/local'

const generated =
  /^(node_modules|\.git|\.next|\.data|\.vercel|prisma\/client|e2e\/results|next-env\.d\.ts)$/

/** The paths of all files in the repository, except generated ones. */
export const files: string[] = filesIn('')

function filesIn(folder: string): string[] {
  return readdirSync(project + folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder + entry.name
    if (generated.test(path)) return []
    return entry.isDirectory() ? filesIn(`${path}/`) : [path]
  })
}

/** Every Markdown document of the repository, by its path. */
export const documents: Record<string, string> = Object.fromEntries(
  files
    .filter((path) => path.endsWith('.md'))
    .map((path) => [path, readFileSync(project + path, 'utf8')]),
)

export type Block = { document: string; language: string; text: string }

/** The fenced code blocks that have a name after their language. Names are unique. */
export const blocks: Record<string, Block> = {}
for (const [document, content] of Object.entries(documents)) {
  for (const [, language, name, text] of content.matchAll(
    /^```(ts|js|html|sql|sh|apache|haproxy|python|ruby|go|perl|json) ([\w-]+)\n(.*?)^```$/gms,
  )) {
    if (blocks[name!])
      throw new Error(
        `The block ${name} is in ${blocks[name!]!.document} and in ${document}.`,
      )
    blocks[name!] = { document, language: language!, text: text! }
  }
}

/** Returns a document without its fenced blocks. */
export function prose(content: string): string {
  return content.replace(/^ *```.*?^ *```$/gms, '')
}

/** Returns the anchors that GitHub creates for the headings of a document. */
export function anchors(content: string): string[] {
  return [...prose(content).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
