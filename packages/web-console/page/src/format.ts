import { signal } from '@preact/signals'

/** Ticks, so that "3 minutes ago" stays true. */
export const clock = signal(Date.now())
setInterval(() => {
  if (!document.hidden) clock.value = Date.now()
}, 5000)

const relative = new Intl.RelativeTimeFormat('en', { style: 'narrow', numeric: 'always' })
const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

/** `3 min. ago`. */
export function ago(time: string, now: number): string {
  const difference = Date.parse(time) - now
  const [unit, size] = units.find(([, size]) => Math.abs(difference) >= size) ?? units[3]
  const count = Math.trunc(difference / size)
  return Math.abs(difference) < 5000 ? 'now' : relative.format(count, unit)
}

const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const short = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
export const fullTime = (time: string): string => moment.format(Date.parse(time))
export const clockTime = (time: string): string => short.format(Date.parse(time))

const counts = new Intl.NumberFormat('en')
export const count = (value: number): string => counts.format(value)

/** In units of 1,000: `6.7 kB`. */
export function bytes(value: number): string {
  const [unit, size] =
    (
      [
        ['GB', 1e9],
        ['MB', 1e6],
        ['kB', 1e3],
      ] as const
    ).find(([, size]) => value >= size) ?? (['B', 1] as const)
  const scaled = value / size
  return `${scaled.toFixed(scaled < 10 && size > 1 ? 1 : 0)} ${unit}`
}

/** `user:<issuer>:<subject>` as its subject; a guest by the end of its id. */
export function caller(id: string): string {
  const parts = id.split(':')
  if (parts[0] === 'user') return decodeURIComponent(parts.at(-1) ?? id)
  if (parts[0] === 'guest') return `guest …${id.slice(-6)}`
  return id
}

/** The end of an id, for where there is no room. Other text stays as it is. */
export const shortId = (id: string): string => id.replace(/^([a-z]+_)[0-9a-z]{20}([0-9a-z]{6})$/, '$1…$2')
