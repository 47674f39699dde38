/** What a reader puts in place of an id that is not of the right length, or not hexadecimal. */
export const MALFORMED_ID = 'malformed';

/** Ids in bytes. */
export const TRACE_ID_BYTES = 16;
export const SPAN_ID_BYTES = 8;

const NO_TRACE_ID = '00'.repeat(TRACE_ID_BYTES);
const NO_SPAN_ID = '00'.repeat(SPAN_ID_BYTES);

/**
 * The id as a reader has left it, which is empty, hexadecimal digits of the right number, or {@link MALFORMED_ID}, in
 * its final form: null where it names nothing. All zeros mean that there is none (W3C Trace Context, section 3.2.2).
 */
export function knownId(id: string | null): string | null {
  return id === '' || id === MALFORMED_ID || id === NO_TRACE_ID || id === NO_SPAN_ID ? null : id;
}
