import { EventEmitter } from 'node:events'
import { Socket, Server as SocketServer } from 'node:net'
import { Duplex, Readable, Stream, Transform, Writable } from 'node:stream'
import { http } from '../http/node-http.ts'

type Properties = ReadonlyMap<PropertyKey, unknown>

/** Node classes besides the globals. */
const classes = {
  Buffer,
  EventEmitter,
  IncomingMessage: http.IncomingMessage,
  OutgoingMessage: http.OutgoingMessage,
  ServerResponse: http.ServerResponse,
  'http.Server': http.Server,
  'net.Server': SocketServer,
  Socket,
  Stream,
  Readable,
  Writable,
  Duplex,
  Transform,
}

/** A listener decides for the whole process what happens to an error. */
const errorEvents = ['uncaughtException', 'unhandledRejection'] as const

/**
 * Records what all code of this process shares: the functions and classes of the language and of
 * Node's global objects, their prototypes, and the listeners for errors. Adding to a global object
 * is no change, adding to a prototype is. Exports of Node's modules (`fs.readFile`) are not
 * checked, because widely used packages patch those.
 *
 * @returns a function that finds the first change since, in words: `it replaces JSON.parse`
 */
export function rememberSharedObjects(): () => string | undefined {
  const remembered = new Map<object, { name: string; prototype: boolean; properties: Properties }>()
  const remember = (name: string, value: unknown, prototype = false) => {
    if (!isObject(value) || remembered.has(value)) return
    remembered.set(value, { name, prototype, properties: propertiesOf(value, prototype) })
    const { value: own } = Reflect.getOwnPropertyDescriptor(value, 'prototype') ?? {}
    if (!prototype) remember(`${name}.prototype`, own, true)
  }
  remember('globalThis', globalThis)
  for (const [name, value] of propertiesOf(globalThis, false)) remember(String(name), value)
  for (const [name, value] of Object.entries(classes)) remember(name, value)
  const listeners = errorEvents.map((event) => process.listenerCount(event))

  return () => {
    for (const [object, { name, prototype, properties }] of remembered) {
      const now = propertiesOf(object, prototype)
      for (const [key, value] of properties) {
        if (now.get(key) === value) continue
        return `it ${now.has(key) ? 'replaces' : 'removes'} ${pathOf(name, key)}`
      }
      const added = prototype && [...now.keys()].find((key) => !properties.has(key))
      if (added) return `it adds ${pathOf(name, added)}`
    }
    const changed = errorEvents.find((event, index) => process.listenerCount(event) !== listeners[index])
    if (changed !== undefined) return `it adds a listener for "${changed}" to the process`
    return process.hasUncaughtExceptionCaptureCallback() ? 'it captures uncaught exceptions' : undefined
  }
}

/** Outside of prototypes it skips Node's getters, which Node replaces at first use. */
function propertiesOf(object: object, prototype: boolean): Properties {
  const properties = new Map<PropertyKey, unknown>()
  for (const key of Reflect.ownKeys(object)) {
    const { value, get } = Reflect.getOwnPropertyDescriptor(object, key) as PropertyDescriptor
    if (prototype) properties.set(key, isObject(value) ? value : get)
    else if (isObject(value)) properties.set(key, value)
  }
  return properties
}

const isObject = (value: unknown): value is object =>
  typeof value === 'function' || (typeof value === 'object' && value !== null)

const pathOf = (name: string, key: PropertyKey) =>
  typeof key === 'symbol'
    ? `${name}[${key.description}]`
    : name === 'globalThis'
      ? key
      : `${name}.${String(key)}`
