/** The reasons to reject a path. */
export type PathFault = 'escape' | 'encoded_slash';

/** A path must stop changing after this many decodings. */
const DECODINGS_MAX = 3;

/** A path without any character of an escape. */
const PLAIN = /^(?!\/)[\w/~!$&'()*+,:=@-]*$/;

/**
 * Returns why the path after the id of an API could leave its base path, or null.
 *
 * Upstreams and the proxies in front of them may decode a path several times. So the path is decoded until it stops changing,
 * and each form is checked: it must not have a dot segment (even with `;parameters`, a query or spaces), a backslash, a control
 * character or an empty first segment. A path that still changes after three decodings is rejected. An encoded slash is a
 * separate fault, because an API can be registered to accept it.
 *
 * @param path the bytes as sent, as latin1, without the query
 */
export function pathFault(path: string): PathFault | null {
  if (PLAIN.test(path)) return null;
  let hasEncodedSlash = false;
  let form = path;
  for (let decodings = 0; ; decodings++) {
    const plain = withPlainSyntax(form);
    if (isEscape(plain)) return 'escape';
    hasEncodedSlash ||= slashes(plain) > slashes(path);
    const next = decoded(form);
    if (next === form) return hasEncodedSlash ? 'encoded_slash' : null;
    if (decodings === DECODINGS_MAX) return 'escape';
    form = next;
  }
}

const FORBIDDEN = /[\x00-\x1f\x7f\\]/;

function isEscape(form: string): boolean {
  return form.startsWith('/') || FORBIDDEN.test(form) || form.split('/').some(isDotSegment);
}

/**
 * Servers remove parameters (`..;/`), and some also trailing spaces, before they resolve dot segments. A server that decodes a
 * path before it parses it also ends the path at an encoded `?` or `#`.
 */
const isDotSegment = (segment: string): boolean => /^ *\.{1,2} *(?:[;?#]|$)/.test(segment);

const slashes = (text: string): number => text.split('/').length;

/** An escaped byte, or an escaped character in the form that some servers accept (`%u002e`). */
const ESCAPE = /%(?:u([0-9a-f]{4})|([0-9a-f]{2}))/gi;

const decoded = (text: string): string =>
  text.replace(ESCAPE, (_, character: string | undefined, byte: string) =>
    character === undefined
      ? String.fromCharCode(Number.parseInt(byte, 16))
      : Buffer.from(String.fromCharCode(Number.parseInt(character, 16))).toString('latin1'),
  );

/** UTF-8 forms of syntax characters that only lenient decoders accept: overlong encodings and full-width characters. */
const LENIENT: readonly (readonly [RegExp, string])[] = [
  [/\xc0\xae|\xe0\x80\xae|\xf0\x80\x80\xae|\xef\xbc\x8e/g, '.'],
  [/\xc0\xaf|\xe0\x80\xaf|\xf0\x80\x80\xaf|\xef\xbc\x8f|\xe2\x88\x95|\xe2\x81\x84/g, '/'],
  [/\xc1\x9c|\xe0\x81\x9c|\xf0\x80\x81\x9c|\xef\xbc\xbc/g, '\\'],
  [/\xc0\x80|\xe0\x80\x80|\xf0\x80\x80\x80/g, '\0'],
  [/\xc0\xbb|\xe0\x80\xbb|\xf0\x80\x80\xbb|\xef\xbc\x9b/g, ';'],
];

function withPlainSyntax(form: string): string {
  if (!/[\xc0-\xf0]/.test(form)) return form;
  return LENIENT.reduce((text, [bytes, character]) => text.replace(bytes, character), form);
}
