import { SetMetadata } from '@nestjs/common';
import type { Environment } from '#platform/config';
import type { ContentCoding } from './content-coding';

export type BodyKind = 'json' | 'bytes' | 'file' | 'stream';

export interface BodyRule {
  /**
   * `json`: read and parsed, the default where a handler has a body parameter. `bytes`: read whole, not parsed, into
   * `rawBody`. `file`: written to a temporary file as it arrives, and hashed on the way; the handler gets it by
   * `@SpooledBody()`. `stream`: left to the handler.
   */
  kind: BodyKind;
  /**
   * Largest body, in bytes, as it arrives and again after its codings are undone; one that depends on the media type
   * is given that in lower case. Absent: `BODY_LIMIT_BYTES`.
   */
  limit?: number | ((environment: Environment, media: string) => number);
  /** For `bytes` and `file`: the media types taken, in lower case and without parameters. Absent: any. */
  media?: readonly string[];
  /** For `bytes`: the codings that are undone before the handler. Absent: the body is left as it is. */
  codings?: readonly ContentCoding[];
  /** The body may be left out, which counts as `{}`. */
  optional?: boolean;
}

export const BODY_RULE = 'http:body';

/** Says how the body of a route is read, where it is not required JSON. */
export const RequestBody = (rule: BodyRule) => SetMetadata(BODY_RULE, rule);
