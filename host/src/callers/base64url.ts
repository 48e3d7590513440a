/**
 * Whether a text is base64url (RFC 4648) in its one form: without padding, line breaks and spare bits.
 * Decoders also take other texts for the same bytes, so that a used-up token would count again.
 */
export const isBase64url = (text: string): boolean =>
  text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text
