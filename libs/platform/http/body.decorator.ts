import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Environment } from '#platform/config';
import type { RoomRule } from './body-rooms';
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
   * Largest body, in bytes, as it arrives and again after its codings are undone (of `json` in base64, half as many
   * again as it arrives); one that depends on the media type is given that in lower case. Absent: `BODY_LIMIT_BYTES`.
   */
  limit?: number | ((environment: Environment, media: string) => number);
  /** For `bytes` and `file`: the media types taken, in lower case and without parameters. Absent: any. */
  media?: readonly string[];
  /**
   * The codings that are undone before the handler. Absent: the body is left as it is of `bytes`, and 415 of `json`.
   * Files come without.
   */
  codings?: readonly ContentCoding[];
  /**
   * For `bytes`: the memory that bodies of this kind may take together, from when they are announced until they are
   * answered; then 503 `service_overloaded`. Absent: as much as there are requests.
   */
  room?: RoomRule;
  /** The body may be left out, which counts as `{}`. */
  optional?: boolean;
}

export const BODY_RULE = 'http:body';

/** Says how the body of a route is read, where it is not required JSON. */
export const RequestBody = (rule: BodyRule) =>
  applyDecorators(SetMetadata(BODY_RULE, rule), ...(rule.codings ? [encodingHeader(rule.codings)] : []));

const encodingHeader = (codings: readonly ContentCoding[]) =>
  ApiHeader({
    name: 'Content-Encoding',
    required: false,
    description: `The codings of the body, in the order in which they were applied: ${codings.join(', ')}${codings.length > 1 ? ', each at most once' : ''}. Others are 415 \`unsupported_content_encoding\`. Too large once they are undone is 413 \`compressed_payload_too_large\`.${codings.includes('base64') ? ' Invalid base64 (RFC 4648, section 4; line breaks are allowed) is 400 `invalid_base64`.' : ''}`,
  });
