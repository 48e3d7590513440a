/** One place of a rule that is broken. */
export interface Found {
  /** `index.js:12`, `GET /note/:id` or `GET /note/:id (index.js:12)`. */
  readonly where: string
  readonly why: string
  /** Instead of what the rule says. */
  readonly remedy?: string
}

export interface Finding extends Required<Found> {
  /** The code of the rule. */
  readonly rule: string
}

/** What every module keeps to. */
export interface Rule<Subject> {
  /** Kebab-case, stable. */
  readonly code: string
  /** What it finds, a noun phrase. */
  readonly finds: string
  /** What to do about it. */
  readonly remedy: string
  find(subject: Subject): readonly Found[] | Promise<readonly Found[]>
}

export async function apply<Subject>(rule: Rule<Subject>, subject: Subject): Promise<Finding[]> {
  const { code, remedy } = rule
  return (await rule.find(subject)).map((found) => ({ rule: code, remedy, ...found }))
}
