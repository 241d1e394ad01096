import * as z from 'zod'
import { escapeHtml } from '@/lib/brand/escape-html'
import { plainPage } from '@/lib/brand/plain-page'
import { type ErrorCode, errors } from '@/lib/contract/errors'
import { listErrors, type Operation, operations } from '@/lib/contract/operations'
import { errorSchema } from '@/lib/contract/schemas'
import {
  introduction,
  openApiDocument,
  type ResponseObject,
  usualHeaders,
} from '@/lib/http/openapi'
import { textsIn } from '@/lib/texts/texts'
import styles from './reference.css.txt?raw'

type Schema = z.core.JSONSchema.BaseSchema

const { info, tags, paths, components } = openApiDocument
const headersByName: Record<string, { description?: string }> = components.headers
const issue = operations.resetPassword.issueExamples.password
const errorExample = {
  ok: false,
  code: 'VALIDATION_ERROR',
  message: issue.message,
  requestId: '7f3c9f0e-8a55-4d8e-9d0a-0f2c6b1f9e11',
  issues: [issue],
}
const groups = tags.map(({ name, description }) => {
  const isInGroup = ([, operation]: [string, Operation]) => operation.tag === name
  const members = Object.entries<Operation>(operations).filter(isInGroup)
  return { name, description, members: Object.fromEntries(members) }
})
const usualErrors = [...new Set(Object.values<Operation>(operations).flatMap(listUsual))]
const main = `<p>${formatText(info.summary)} For programs: <a href="/openapi.json">/openapi.json</a></p>
<div class="columns">${renderEach(introduction, (title, text) => `<div><h2>${title}</h2><p>${formatText(text)}</p></div>`)}</div>
<nav aria-label="Operations">${groups.map(renderGroup).join('\n')}</nav>
${groups.map(({ members }) => renderEach(members, renderSection)).join('\n')}
<section id="errors"><h2>The body of every error</h2>
<p>${formatText('Only `VALIDATION_ERROR` and `SECOND_FACTOR_INVALID` have `issues`.')}</p>
${renderBody(errorSchema('VALIDATION_ERROR'), errorExample)}
<h2>Errors of many operations</h2>
<dl>${usualErrors.map(renderUsualError).join('\n')}</dl></section>
<h2>Headers of every response, unless it says otherwise</h2>
<dl>${usualHeaders.map((name) => renderTerm(formatCode(name), headersByName[name]!.description)).join('')}</dl>`

/** Shows /openapi.json as a page, in English. */
export function GET({ headers }: Request): Response {
  const html = plainPage(
    textsIn('en'),
    headers.get('x-nonce')!,
    'API reference',
    main,
    styles,
  )

  return new Response(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } })
}

/** Lists the operations of a topic. */
function renderGroup({ name, description, members }: (typeof groups)[number]): string {
  const items = renderEach(
    members,
    (id, operation) =>
      `<li>${renderLink(id, operation)} ${formatText(operation.summary)}</li>`,
  )
  return `<h2>${name}</h2><p>${formatText(description)}</p><ul>${items}</ul>`
}

function renderSection(id: string, operation: Operation): string {
  const { summary, description, session, request, requestExample } = operation

  return `<section id="${id}"><h2>${renderLink(id, operation)}</h2>
<p><strong>${formatText(summary)}</strong> ${formatText(description).replaceAll('\n\n', '</p>\n<p>')}</p>
${session ? `<p>The session JWT, as a Bearer token or in the cookie, is ${session}.</p>` : ''}
${request ? `<h3>Request body</h3>${renderBody(request, requestExample)}` : ''}
<h3>Response body</h3>${renderBody(operation.response, operation.responseExample)}
<h3>Responses</h3>${renderResponses(operation)}</section>`
}

function responsesOf({ method, path }: Operation): Record<string, ResponseObject> {
  return paths[path]![method.toLowerCase()]!.responses
}

/**
 * Returns the errors that an operation has because of its kind, such as too many
 * requests, and whose responses are the usual ones.
 */
function listUsual(operation: Operation): ErrorCode[] {
  const responses = responsesOf(operation)
  return listErrors(operation).filter(
    (code) => !operation.errors?.includes(code) && responses[errors[code].status]!.$ref,
  )
}

/** Describes the responses of an operation, and links to the usual errors. */
function renderResponses(operation: Operation): string {
  const usual = listUsual(operation)
  const codesOf = (status: string) =>
    listErrors(operation).filter((code) => errors[code].status === Number(status))

  const described = Object.entries(responsesOf(operation))
    .map(([status, own]) => ({ status, own, codes: codesOf(status) }))
    .filter(({ codes }) => !codes.some((code) => usual.includes(code)))
    .map(({ status, own, codes }) => renderResponse(status, codes, own))
  const links = usual.map(
    (code) => `<a href="#${code}">${formatCode(`${errors[code].status} ${code}`)}</a>`,
  )

  return `<dl>${described.join('\n')}</dl><p>The usual errors: ${links.join(', ')}</p>`
}

function renderUsualError(code: ErrorCode): string {
  const { status } = errors[code]
  return `<div id="${code}">${renderResponse(String(status), [code], {})}</div>`
}

/**
 * Describes a response: its error codes, when it occurs, and its headers except the usual
 * ones.
 */
function renderResponse(status: string, codes: ErrorCode[], own: ResponseObject): string {
  const { description, headers = {} } = { ...components.responses[codes[0]!], ...own }

  const list = Object.entries(headers)
    .filter(([name, { $ref }]) => !$ref || !usualHeaders.includes(name))
    .map(
      ([name, header]) =>
        `<br>Header ${formatCode(name)}: ${formatText({ ...headersByName[name], ...header }.description!)}`,
    )

  return renderTerm(
    [status, ...codes].map(formatCode).join(' '),
    description,
    list.join(''),
  )
}

function renderBody(schema: z.ZodType, example?: object): string {
  return `<dl>${renderFields(z.toJSONSchema(schema, { io: 'input' }))}</dl><pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre>`
}

/**
 * Describes the fields of an object. The name of a nested field begins with the name of
 * its object.
 */
function renderFields({ properties = {}, required = [] }: Schema, path = ''): string {
  return renderEach(properties as Record<string, Schema>, (name, field) => {
    const title = `${formatCode(path + name)} ${describeType(field)}${required.includes(name) ? '' : ', optional'}`
    const nested = field.items
      ? renderFields(field.items as Schema, `${path}${name}[].`)
      : renderFields(field, `${path}${name}.`)
    return renderTerm(title, field.description) + nested
  })
}

function describeType({
  type,
  items,
  const: only,
  enum: values,
  format,
  pattern,
}: Schema): string {
  if (items) return `array of ${describeType(items as Schema)}`

  const name = [type].flat().join(' or ')
  const limit = values?.join(' | ') ?? only ?? format ?? pattern
  return limit === undefined ? name : `${name}, ${formatCode(String(limit))}`
}

function renderEach<Value>(
  record: Record<string, Value>,
  describe: (name: string, value: Value) => string,
): string {
  const texts = Object.entries(record).map(([name, value]) => describe(name, value))
  return texts.join('\n')
}

function renderLink(
  id: string,
  { method, path }: Pick<Operation, 'method' | 'path'>,
): string {
  return `<a href="#${id}">${formatCode(`${method} ${path}`)}</a>`
}

function renderTerm(title: string, description = '', more = ''): string {
  return `<dt>${title}</dt><dd>${formatText(description)}${more}</dd>`
}

function formatCode(text: string): string {
  return `<code>${escapeHtml(text)}</code>`
}

/** Returns HTML for a text, with code in backticks. */
function formatText(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
