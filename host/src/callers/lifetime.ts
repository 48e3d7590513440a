/** In seconds, as jose counts them. */
const units: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  y: 31_557_600,
}

/** The seconds of a number and one of s, m, h, d, w, y: `15m`, `30d`; undefined for another text. */
export function secondsOfLifetime(text: string): number | undefined {
  const [, number, unit = ''] = /^([1-9]\d{0,5})([smhdwy])$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * (units[unit] as number)
}
