import type { NextFunction, Request, Response } from 'express';
import { encodeStatus } from '#otlp';
import { PROBLEM_WRITER, type ProblemWriter } from '#platform/http';
import { otlpEncodingOf, PROTOBUF_MEDIA } from './otlp-body.decorator';

/** Statuses that OTLP exporters retry, each with its default `Retry-After` in seconds. */
const RETRY_SECONDS: Readonly<Record<number, string>> = { 429: '1', 503: '1' };

/**
 * Sends the errors of export routes as OTLP/HTTP requires: a problem body for a JSON request, a google.rpc.Status for a
 * protobuf request. Runs first, so that it also covers errors before routing and authentication.
 */
export function otlpProblems(request: Request, response: Response, next: NextFunction): void {
  const writer = otlpEncodingOf(request) === 'protobuf' ? writeStatus : writeProblem;
  const write: ProblemWriter = (target, body) => {
    const retryAfter = RETRY_SECONDS[body.status];
    if (retryAfter && !target.hasHeader('Retry-After')) target.setHeader('Retry-After', retryAfter);
    writer(target, body);
  };
  response.locals[PROBLEM_WRITER] = write;
  next();
}

const writeStatus: ProblemWriter = (response, body) => {
  response.setHeader('Content-Type', PROTOBUF_MEDIA);
  response.end(encodeStatus(body));
};

const writeProblem: ProblemWriter = (response, body) => {
  response.setHeader('Content-Type', 'application/problem+json');
  response.end(JSON.stringify(body));
};
