import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { type ByteLease, setCurrentCheck } from '#platform/concurrency';
import { toJsonText } from '#platform/json';
import { BodyBudgets, MEMORY_BUDGET, unreadResponses } from './body-budgets';
import { CachedDocument } from './cached-document';
import { namesETag } from './conditions';
import { etagOf, Reply, Versioned } from './reply';
import { isReading, type ServiceRequest } from './request-context';
import { StreamedBody } from './streamed-body';

const compress = promisify(gzip);

/** Responses up to this many bytes fit into the buffers of a connection, and are not counted. */
const UNCOUNTED_BYTES = 64 * 1024;

/** Length above which a text without a version has no ETag, in UTF-16 units, because hashing it would take too long. */
const HASHED_MAX = 256 * 1024;

/**
 * Writes the view, `Reply` or `CachedDocument` that a handler returned. Reads have an ETag, from their version or a digest
 * of the text, and return 304 when `If-None-Match` names it. Long texts without a version have no ETag. Text of more than
 * 1 KiB is compressed with gzip if the client accepts it, at the fastest level. The ETag stays the same, because it names
 * the version, which clients send back in `If-Match`. A response holds memory of the budget until the client has read it.
 */
@Injectable()
export class ResponseWriter {
  constructor(private readonly budgets: BodyBudgets) {}

  /** Throws 503 for an authenticated request if its response would probably not fit, so that no work starts. */
  prepare(request: ServiceRequest): void {
    if (!request.user) return;
    const check = this.checkOf(request.user.orgId ?? '');
    check();
    if (isReading(request)) setCurrentCheck(check);
  }

  /**
   * Returns a check that throws 503 if the owner's budget is nearly exhausted. It does not capture the request, because a
   * connection that is opened meanwhile keeps its asynchronous context.
   */
  private checkOf(owner: string): () => void {
    const { budgets } = this;
    return () => budgets.checkMemory(owner);
  }

  /** Sets the status and headers of a response, and returns its body. */
  async write(request: ServiceRequest, response: Response, result: unknown): Promise<unknown> {
    if (result instanceof CachedDocument) return result.select(request, response);
    let body = result;
    if (result instanceof Reply) {
      response.status(result.status);
      for (const [name, value] of Object.entries(result.headers)) response.setHeader(name, value);
      body = result.body;
    } else if (result instanceof Versioned) {
      response.setHeader('ETag', etagOf(result.version));
      body = result.view;
    }
    if (body === undefined) return body;
    const isGet = request.method === 'GET' || request.method === 'HEAD';
    const canHaveETag = isGet && response.statusCode === 200;
    // Express ignores the condition when the request has `Cache-Control: no-cache`, which fetch sends
    const isKnown = (): boolean =>
      canHaveETag &&
      response.hasHeader('ETag') &&
      namesETag(request.headers['if-none-match'], String(response.getHeader('ETag')));
    if (body instanceof StreamedBody) {
      if (isKnown()) {
        await body.cancel();
        return notModified(response);
      }
      if (body.fitsInto(this.leaseOf(request, response))) return body;
      await body.cancel();
      throw unreadResponses();
    }
    if (Buffer.isBuffer(body)) return this.encode(request, response, body);
    const text = toJsonText(body);
    const bytes = Buffer.from(text);
    if (canHaveETag && !response.hasHeader('ETag') && text.length <= HASHED_MAX) {
      response.setHeader('ETag', digestOf(bytes));
    }
    if (isKnown()) return notModified(response);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    return this.encode(request, response, bytes);
  }

  /** Returns the bytes to send, compressed if the client accepts it and it helps. */
  private async encode(
    request: ServiceRequest,
    response: Response,
    body: Buffer,
  ): Promise<Buffer | undefined> {
    const plain = this.account(request, response, body);
    if (!plain || !isCompressible(response, body)) return plain;
    response.vary('Accept-Encoding');
    if (request.acceptsEncodings('gzip', 'identity') !== 'gzip') return body;
    const compressed = await compress(body, { level: constants.Z_BEST_SPEED });
    if (compressed.length >= body.length) return body;
    response.setHeader('Content-Encoding', 'gzip');
    return this.account(request, response, compressed);
  }

  /**
   * Counts the bytes of a response until it is closed, instead of the bytes of the request's body. Returns the body. If
   * it does not fit into the budget: throws 503 for a read, else aborts the response and returns undefined.
   */
  private account(request: ServiceRequest, response: Response, body: Buffer): Buffer | undefined {
    const bytes = body.length <= UNCOUNTED_BYTES ? 0 : body.length;
    const fits = (bytes === 0 && !request.lease) || this.leaseOf(request, response).tryResize(bytes);
    if (fits) {
      response.setHeader('Content-Length', body.length);
      return body;
    }
    if (isReading(request)) throw unreadResponses();
    // the work is done, so a problem would be wrong
    response.destroy();
    return undefined;
  }

  private leaseOf(request: ServiceRequest, response: Response): ByteLease {
    return (request.lease ??= this.budgets.leaseFor(request, response, MEMORY_BUDGET));
  }
}

/** Smaller responses are not worth compressing, in bytes. */
const COMPRESSED_FROM = 1024;

const TEXT = /^text\/|[/+](json|xml)\b/;

/** Tells whether a response is complete text that is not encoded yet. */
const isCompressible = (response: Response, { length }: Buffer): boolean =>
  length > COMPRESSED_FROM &&
  response.statusCode !== 206 &&
  !response.hasHeader('Content-Encoding') &&
  TEXT.test(String(response.getHeader('Content-Type')));

/** Removes the headers that describe the missing content (RFC 9110, section 15.4.5). */
function notModified(response: Response): undefined {
  response.status(304);
  for (const name of ['Content-Type', 'Content-Length', 'Content-Disposition']) response.removeHeader(name);
}

const digestOf = (bytes: Buffer): string => `"${createHash('sha1').update(bytes).digest('base64url')}"`;
