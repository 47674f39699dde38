import { Controller, HttpCode, Post, Query, Req, applyDecorators } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Member, RequireRoleSomewhere } from '#platform/auth';
import {
  givenTrace,
  LongRunning,
  NotRepeatable,
  type Reply,
  RequestBody,
  RequestSignal,
  type ServiceRequest,
} from '#platform/http';
import { RateLimited } from '#platform/rate-limit';
import type { CallFormat } from './call-format';
import { DescribesCall } from './calls.openapi';
import { CALLING_ROLES, GatewayService } from './gateway.service';

/** Longest time for a call with all its attempts, until its answer begins. */
const CALL_MS = 600_000;

/** Headers of a client that its provider gets, by format. */
const FORWARDED: Readonly<Record<CallFormat, readonly string[]>> = {
  chat: ['openai-beta'],
  responses: ['openai-beta'],
  embeddings: [],
  messages: ['anthropic-version', 'anthropic-beta'],
};

/** A call of a model, whose body is passed on. */
const CallsModel = (path: string) =>
  applyDecorators(
    Post(path),
    HttpCode(200),
    RequireRoleSomewhere(...CALLING_ROLES),
    RateLimited('proxy'),
    NotRepeatable(),
    LongRunning(
      () => true,
      () => CALL_MS,
    ),
    RequestBody({ kind: 'bytes', media: ['application/json'], codings: ['gzip'] }),
  );

@ApiTags('Model gateway')
@Controller('model/v1')
export class GatewayController {
  constructor(private readonly gateway: GatewayService) {}

  /**
   * Create a chat completion, plain or streamed
   *
   * @remarks As OpenAI's `POST /v1/chat/completions`: its clients work with the base URL `/model/v1`. A provider of Anthropic is asked in its own format. Members that the gateway does not know are passed on.
   */
  @CallsModel('chat/completions')
  @DescribesCall({ messages: { type: 'array', items: {} } }, ['messages'])
  chat(@Req() request: ServiceRequest, @RequestSignal() signal: AbortSignal): Promise<Reply> {
    return this.call('chat', request, signal);
  }

  /**
   * Create a response, plain or streamed
   *
   * @remarks As OpenAI's `POST /v1/responses`. A provider of Anthropic is asked in its own format, and then nothing that needs stored responses is possible.
   */
  @CallsModel('responses')
  @DescribesCall({ input: {} }, [])
  responses(@Req() request: ServiceRequest, @RequestSignal() signal: AbortSignal): Promise<Reply> {
    return this.call('responses', request, signal);
  }

  /**
   * Create embeddings
   *
   * @remarks As OpenAI's `POST /v1/embeddings`. Providers of Anthropic have none.
   */
  @CallsModel('embeddings')
  @DescribesCall({ input: {} }, ['input'], false)
  embeddings(@Req() request: ServiceRequest, @RequestSignal() signal: AbortSignal): Promise<Reply> {
    return this.call('embeddings', request, signal);
  }

  /**
   * Create a message, plain or streamed
   *
   * @remarks As Anthropic's `POST /v1/messages`: its clients work with the base URL `/model`. The credential may also be in `x-api-key`. A provider of OpenAI is asked for a chat completion.
   */
  @CallsModel('messages')
  @DescribesCall({ messages: { type: 'array', items: {} }, max_tokens: { type: 'integer' } }, ['messages'])
  messages(
    @Req() request: ServiceRequest,
    @RequestSignal() signal: AbortSignal,
    // the client of Anthropic sends `beta=true`
    @Query() _query: Record<string, string>,
  ): Promise<Reply> {
    return this.call('messages', request, signal);
  }

  private call(format: CallFormat, request: ServiceRequest, signal: AbortSignal): Promise<Reply> {
    const headers = FORWARDED[format].flatMap((name) => {
      const value = request.headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    return this.gateway.call({
      principal: request.user as Member,
      format,
      body: request.rawBody!,
      headers: Object.fromEntries(headers),
      parent: givenTrace(request),
      traceId: request.context.traceId,
      signal,
      lease: request.lease,
    });
  }
}
