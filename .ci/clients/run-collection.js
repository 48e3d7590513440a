import { readFile } from 'node:fs/promises'
import newman from 'newman'
import postman from 'openapi-to-postmanv2'

/**
 * Runs every request that Postman's import makes of the document. A response must be one that the document has, by status
 * and content type; none is a 5xx. Who makes something has its id in the requests that follow.
 * @throws {Error} with each request that got another response
 */
export async function runCollection(file, url, token) {
  const data = await readFile(file, 'utf8')
  const collection = await imported(data)
  const requests = itemsOf(collection, JSON.parse(data))
  for (const [item, operation] of requests) {
    const { url: target, header, body } = item.request
    item.event = [{ listen: 'test', script: { exec: testOf(operation) } }]
    for (const variable of target.variable) {
      variable.value = `{{${target.path[target.path.indexOf(`:${variable.key}`) - 1]}}}`
    }
    const isOptional = ({ key }) =>
      operation.parameters?.some(({ name, required }) => name === key && required !== true)
    for (const parameter of [...target.query, ...header]) parameter.disabled = isOptional(parameter) === true
    // A form stays as it is: it has no file, which the document says is 400.
    if (body?.mode === 'raw') body.raw = withExamples(body.raw, operation, JSON.parse(data))
  }
  // What is made is there until all others have seen it.
  const { info, variable } = collection
  const isLast = ([item]) => item.request.method === 'DELETE'
  const item = [...requests.filter((one) => !isLast(one)), ...requests.filter(isLast)].map(([one]) => one)
  const variables = { baseUrl: url, bearerToken: token }
  const envVar = Object.entries(variables).map(([key, value]) => ({ key, value }))
  const { run } = await new Promise((resolve, reject) => {
    newman.run({ collection: { info, variable, item }, envVar, timeoutRequest: 10_000 }, (error, summary) =>
      error ? reject(error) : resolve(summary),
    )
  })
  if (run.failures.length > 0) {
    throw new Error(run.failures.map(({ source, error }) => `${source?.name}: ${error.message}`).join('\n'))
  }
  const { length: count } = requests
  const succeeded = run.executions.filter(({ response }) => response.code < 300).length
  if (run.executions.length !== count)
    throw new Error(`${run.executions.length} of ${count} requests were sent`)
  if (succeeded < count / 2) throw new Error(`of ${count} requests, ${succeeded} succeeded`)
  return `${count} requests, ${succeeded} of them 2xx`
}

function imported(data) {
  const options = { parametersResolution: 'Example', folderStrategy: 'Tags', includeWebhooks: false }
  return new Promise((resolve, reject) => {
    postman.convertV2({ type: 'string', data }, options, (error, { result, reason, output } = {}) => {
      if (error || !result) reject(error ?? new Error(reason))
      else resolve(output[0].data)
    })
  })
}

/** The requests of a collection, each with the operation of the document that it is of. */
function itemsOf({ item: items }, document) {
  return items.flatMap((item) => {
    if (item.item) return itemsOf(item, document)
    const { method, url } = item.request
    const path = `/${url.path.join('/')}`.replace(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (!operation) throw new Error(`${method} ${path} is not in the document`)
    return [[item, operation]]
  })
}

/**
 * What Postman makes up has the form of a field; where the document has an example, that means something, too. A switch
 * stays as it is: by chance one or the other would be another run each time.
 */
function withExamples(raw, { requestBody }, { components }) {
  const { schema } = requestBody.content['application/json']
  const { properties = {} } = components.schemas[schema.$ref?.split('/').at(-1)] ?? schema
  const body = Object.entries(JSON.parse(raw)).flatMap(([name, value]) =>
    typeof value === 'boolean' ? [] : [[name, properties[name]?.examples?.[0] ?? value]],
  )
  return JSON.stringify(Object.fromEntries(body))
}

/** The script of a request, which Postman runs on its response. */
function testOf({ responses }) {
  const types = Object.entries(responses).map(([status, { content = {} }]) => [status, Object.keys(content)])
  return [
    `const types = ${JSON.stringify(Object.fromEntries(types))}`,
    'const { code, headers } = pm.response',
    "const type = (headers.get('content-type') || '').split(';')[0]",
    "pm.test('no 5xx', () => pm.expect(code).to.be.below(500))",
    "const range = String(code)[0] + 'XX'",
    'const form = code in types ? String(code) : range',
    "pm.test('the document has ' + code, () => pm.expect(Object.keys(types)).to.include(form))",
    "pm.test('the document has ' + type, () => pm.expect(types[form]).to.include(type))",
    "const [, ...segments] = (headers.get('location') || '').split('/')",
    'for (let at = 1; at < segments.length; at++) pm.environment.set(segments[at - 1], segments[at])',
  ]
}
