import type { Pages, RequestOptions } from '../api/calls.cjs';
import type { Model, ModelUsage } from '../api/types.cjs';
import { events } from '../core/streams.js';
import { type ListOf, Resource } from './resource.js';

/** A request in the form of OpenAI's chat completions. Members that are not named here are passed on. */
export interface ChatRequest {
  /** The name or the id of a model of the gateway. */
  model: string;
  messages: unknown[];
  [member: string]: unknown;
}

export interface ChatCompletion {
  choices: {
    message: { role: string; content: string | null; tool_calls?: unknown[] };
    finish_reason: string | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  [member: string]: unknown;
}

export interface ChatChunk {
  choices: {
    delta: { role?: string; content?: string | null; tool_calls?: unknown[] };
    finish_reason: string | null;
  }[];
  usage?: ChatCompletion['usage'] | null;
  [member: string]: unknown;
}

/** Models of the gateway, and what they cost. */
export class Models extends Resource {
  /** Lists the models of the workspace, newest first. */
  list(filters: ListOf<'listModels'> = {}): Pages<Model> {
    return this.api.listModels({ ...this.workspace, ...filters });
  }

  /** Asks a model, for up to 10 minutes. Not repeated after a lost answer, because it would cost twice. */
  async chat(request: ChatRequest, options?: RequestOptions): Promise<ChatCompletion> {
    return (await this.api.createChatCompletion({ body: request }, options)) as unknown as ChatCompletion;
  }

  /** Asks a model, and yields its answer as it arrives. Leaving the loop stops the model. Throws if the answer breaks off. */
  async *stream(request: ChatRequest, options?: RequestOptions): AsyncGenerator<ChatChunk> {
    const call = this.api.createChatCompletion({ body: { ...request, stream: true } }, options);
    for await (const { data } of events<ChatChunk & { error?: { message?: string } }>(
      await call.asResponse(),
    )) {
      if (data.error) throw new Error(data.error.message ?? JSON.stringify(data.error));
      yield data;
    }
  }

  /** Lists tokens and costs, by day, model, principal, provider or workspace: `group_by: 'day,model'`. */
  usage(filters: ListOf<'listModelUsage'> = {}): Pages<ModelUsage> {
    return this.api.listModelUsage({ ...this.workspace, ...filters });
  }
}
