/** A schema that cannot be used. `pointer` (RFC 6901, into the schema) says where, the message what would be right. */
export class SchemaRefused extends Error {
  override name = 'SchemaRefused';
  constructor(
    readonly pointer: string,
    detail: string,
  ) {
    super(detail);
  }
}

/** A JSON pointer (RFC 6901) one step further down. */
export function pointerTo(pointer: string, token: string | number): string {
  return `${pointer}/${String(token).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
