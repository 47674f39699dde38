import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { ServiceRequest } from './request-context';
import type { SpooledFile } from './spooled-file';

/** A body that was spooled, and what its sender says of it. */
export interface SpooledRequest {
  /** Closed with the answer. */
  file: SpooledFile;
  /** The `Content-Type`, as sent, with its parameters. */
  contentType: string;
}

/** The body of a route with `@RequestBody({ kind: 'file' })`. */
export const SpooledBody = createParamDecorator((_: unknown, context: ExecutionContext): SpooledRequest => {
  const { bodyFile, headers } = context.switchToHttp().getRequest<ServiceRequest>();
  if (!bodyFile) throw new Error('The route does not say that its body is spooled.');
  return { file: bodyFile, contentType: headers['content-type'] ?? '' };
});
