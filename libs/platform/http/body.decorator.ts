import { SetMetadata } from '@nestjs/common';

export type BodyKind = 'json' | 'bytes' | 'stream';

export interface BodyRule {
  /**
   * `json`: read and parsed, the default where a handler has a body parameter. `bytes`: read whole, undecoded, into
   * `rawBody`. `stream`: left to the handler.
   */
  kind: BodyKind;
  /** Largest body, in bytes. Absent: `BODY_LIMIT_BYTES`. */
  limit?: number;
  /** The body may be left out, which counts as `{}`. */
  optional?: boolean;
}

export const BODY_RULE = 'http:body';

/** Says how the body of a route is read, where it is not required JSON. */
export const RequestBody = (rule: BodyRule) => SetMetadata(BODY_RULE, rule);
