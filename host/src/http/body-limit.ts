/** The most bytes of a body: 200 items at their longest, escaped, are 314,200. */
export const BODY_LIMIT = 384 * 1024
