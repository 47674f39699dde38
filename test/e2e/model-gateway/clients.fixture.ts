import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { embed, generateText, streamText } from 'ai';
import OpenAI from 'openai';
import { type ApiClient, newOrganization, type TestApp, type TestOrganization } from '#testing';
import { FakeProvider, modelOf, newModel, newProvider } from './provider.fixture';

const messages = [{ role: 'user' as const, content: 'Hi' }];

export type Kind = 'openai' | 'anthropic';

/** The clients that developers use, at the gateway of an organization with two providers. */
export class ClientsFixture {
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  provider!: FakeProvider;
  other!: FakeProvider;

  private constructor(
    readonly app: TestApp,
    readonly org: TestOrganization,
    readonly admin: ApiClient,
    readonly key: string,
  ) {
    this.openai = new OpenAI({ baseURL: `${app.url}/model/v1`, apiKey: key, maxRetries: 0 });
    const baseURL = `${app.url}/model`;
    this.anthropic = new Anthropic({ baseURL, authToken: key, apiKey: null, maxRetries: 0 });
  }

  static async create(app: TestApp): Promise<ClientsFixture> {
    const org = await newOrganization(app);
    const { key } = await org.serviceAccount('runtime');
    return new ClientsFixture(app, org, await org.member('admin'), key);
  }

  async listen(): Promise<void> {
    this.provider = await FakeProvider.listen();
    this.other = await FakeProvider.listen();
  }

  async close(): Promise<void> {
    await this.provider.close();
    await this.other.close();
  }

  /** Returns a model whose only target is the first provider. */
  single(kind: Kind = 'openai', more: object = {}): Promise<string> {
    return modelOf(this.admin, this.org.workspaceId, this.provider, { kind, ...more });
  }

  /** Returns a model that calls the second provider if the first one fails. */
  async fallback(kind: Kind, more: object = {}): Promise<string> {
    const { workspaceId } = this.org;
    const targets = await Promise.all(
      [this.provider, this.other].map(async (one) => ({
        provider_id: await newProvider(this.admin, workspaceId, one, { kind }),
        upstream_model: 'up',
      })),
    );
    const name = `f-${Math.random().toString(36).slice(2)}`;
    await newModel(this.admin, workspaceId, { name, strategy: 'fallback', targets, ...more });
    return name;
  }

  /** Asks a model with each client. They return the text of the answer. */
  readonly ask: Readonly<Record<string, (model: string) => Promise<string>>> = {
    openai: async (model) =>
      (await this.openai.chat.completions.create({ model, messages })).choices[0]!.message.content!,
    'openai, streamed': async (model) => {
      const stream = await this.openai.chat.completions.create({ model, messages, stream: true });
      let text = '';
      for await (const one of stream) text += one.choices[0]?.delta.content ?? '';
      return text;
    },
    anthropic: async (model) => {
      const { content } = await this.anthropic.messages.create({ model, messages, max_tokens: 100 });
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    },
    'anthropic, streamed': (model) =>
      this.anthropic.messages.stream({ model, messages, max_tokens: 100 }).finalText(),
    'AI SDK': async (model) =>
      (await generateText({ model: this.ai.chatModel(model), prompt: 'Hi', maxRetries: 0 })).text,
    'AI SDK, streamed': async (model) => {
      const errors: unknown[] = [];
      const onError = ({ error }: { error: unknown }): void => void errors.push(error);
      const result = streamText({ model: this.ai.chatModel(model), prompt: 'Hi', maxRetries: 0, onError });
      let text = '';
      for await (const part of result.textStream) text += part;
      if (errors.length > 0) throw new Error((errors[0] as Error).message);
      return text;
    },
  };

  async embedWithAiSdk(model: string): Promise<number[]> {
    const embeddings = this.ai.embeddingModel(model);
    return (await embed({ model: embeddings, value: 'x', maxRetries: 0 })).embedding;
  }

  /** Returns the usage of a model. */
  async usageOf(name: string): Promise<any> {
    const { body } = await this.admin.get(`/model/v1/models/${name}`);
    return (await this.admin.get(`/model/v1/usage?model_id=${body.model_id as string}`)).body.total;
  }

  private get ai() {
    return createOpenAICompatible({ name: 'ai', baseURL: `${this.app.url}/model/v1`, apiKey: this.key });
  }
}

export const STREAMING_CLIENTS = ['openai, streamed', 'anthropic, streamed', 'AI SDK, streamed'];
export const CLIENTS = ['openai', 'anthropic', 'AI SDK', ...STREAMING_CLIENTS];
