// Reads a table from a text file of another program, such as Excel or LibreOffice.
import { isUtf8 } from 'node:buffer'
import { parse } from 'csv-parse/sync'
import { UsageError } from '../usage-error'

export type Row = { line: number; fields: string[] }
export type Table = { separator: string; rows: Row[] }

/** The separators that are recognized, with the names that errors use. */
const separators: Record<string, string> = {
  ',': 'a comma',
  ';': 'a semicolon',
  '\t': 'a tab',
  '|': 'a vertical bar',
  ':': 'a colon',
}

const howToSave =
  'In Excel, save the file as “CSV UTF-8”. In LibreOffice, choose the character set UTF-8.'

/**
 * Reads rows of fields, which are trimmed, and skips empty rows. Accepts UTF-8, UTF-16 with
 * a byte-order mark, and lines that end in CR, LF or both. The separator is that of the
 * line `sep=;`, or of the first line that `isStart` recognizes when it is split. Throws
 * UsageError if the encoding is wrong.
 */
export function readTable(
  bytes: Uint8Array,
  isStart: (fields: string[]) => boolean,
): Table {
  // csv-parse counts CR LF in quotes as two lines
  const text = decodeText(bytes).replace(/\r\n?/g, '\n')

  const declared = /^"?sep=(.)"?[,;\t]*\n/i.exec(text)
  const separator = declared?.[1] ?? findSeparator(text, isStart)

  const rows = readRows(text, separator)
  return { separator, rows: declared ? rows.filter(({ line }) => line > 1) : rows }
}

/** Returns the name of a separator, for an error. */
export function nameSeparator(separator: string): string {
  return separators[separator] ?? `“${separator}”`
}

/** Returns another separator than that of the table, if a text contains one. */
export function findOtherSeparator(text: string, separator: string): string | undefined {
  return Object.keys(separators).find((each) => each !== separator && text.includes(each))
}

function decodeText(bytes: Uint8Array): string {
  const encoding = findEncoding(bytes)
  let text: string

  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    const problem =
      encoding === 'utf-8'
        ? `The file is not in UTF-8: see line ${findOtherEncoding(bytes)}.`
        : 'The file has the byte-order mark of UTF-16, but is not in UTF-16.'
    throw new UsageError(`Nothing was imported. ${problem} ${howToSave}`)
  }

  if (text.includes('\0'))
    throw new UsageError(
      `Nothing was imported. The file is not in UTF-8: it has zero bytes, as UTF-16 without a byte-order mark. ${howToSave}`,
    )

  return text
}

function findEncoding([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return 'utf-8'
}

/** Returns the number of the first line that is not in UTF-8. */
function findOtherEncoding(bytes: Uint8Array): number {
  const lines = Buffer.from(bytes)
    .toString('latin1')
    .split(/\r\n?|\n/)
  return lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1
}

function findSeparator(text: string, isStart: (fields: string[]) => boolean): string {
  for (const line of text.split('\n')) {
    const found = Object.keys(separators).find(
      (separator) => line.includes(separator) && isStart(splitLine(line, separator)),
    )
    if (found) return found
  }

  return ','
}

/** Splits a line as if it had no separator in quotes. */
function splitLine(line: string, separator: string): string[] {
  return line.split(separator).map((field) => field.trim().replace(/^"(.*)"$/, '$1'))
}

/** Returns the rows that are not empty, with the numbers of their first lines. */
function readRows(text: string, separator: string): Row[] {
  const rows: Row[] = []
  let line = 1

  parse(text, {
    delimiter: separator,
    record_delimiter: '\n',
    ltrim: true, // for a quote after a separator and a space
    relax_column_count: true,
    relax_quotes: true, // otherwise, a quote in the wrong place would hide later lines
    skip_records_with_error: true,
    on_record: (fields: string[], { lines }) => {
      rows.push({ line, fields: fields.map((field) => field.trim()) })
      line = lines + 1
    },
    on_skip: () => void rows.push({ line, fields: ['"'] }), // no closing quote
  })

  return rows.filter(({ fields }) => fields.some((field) => field !== ''))
}
