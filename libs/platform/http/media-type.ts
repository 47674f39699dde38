import type { IncomingMessage } from 'node:http';

/** The media type of a request's body in lower case, without parameters; undefined where none is named. */
export const mediaTypeOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
