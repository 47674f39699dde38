import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsNumber, Max, Min } from 'class-validator';
import type { Response } from 'express';
import { endingOf, LongRunning, NotNull, type ServiceRequest } from '#platform/http';
import { ToNumber } from '#platform/paging';

/** Maximum of `wait_s`, in seconds. */
const WAIT_MAX_S = 30;

/** Query of an operation that can wait for the end of work. */
export class WaitQueryDto {
  @ApiProperty({
    type: 'number',
    minimum: 0,
    maximum: WAIT_MAX_S,
    required: false,
    description:
      'Waits up to this many seconds for the work to end, then returns its state. 8 requests of a caller can wait at once in a process. A further one, and a process that stops, respond at once.',
  })
  @NotNull()
  @IsNumber()
  @Min(0)
  @Max(WAIT_MAX_S)
  @ToNumber()
  wait_s?: number;
}

/** Gives requests with `wait_s` that time in addition to the time limit of every request. */
export const CanWait = () =>
  LongRunning(
    ({ query }) => query.wait_s !== undefined,
    ({ REQUEST_TIMEOUT_MS }) => REQUEST_TIMEOUT_MS + WAIT_MAX_S * 1000,
  );

/** A request that may wait. */
export interface Wait {
  /** Aborted when the client has disconnected. */
  signal: AbortSignal;
  /** Runs `work`, meanwhile the request does not count as one in flight. */
  idle<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Injects the `Wait` of a request. */
export const CurrentWait = createParamDecorator((_: unknown, context: ExecutionContext): Wait => {
  const http = context.switchToHttp();
  const request = http.getRequest<ServiceRequest>();
  return {
    signal: endingOf(request, http.getResponse<Response>()).signal,
    async idle(work) {
      request.setIdle?.(true);
      try {
        return await work();
      } finally {
        request.setIdle?.(false);
      }
    },
  };
});
