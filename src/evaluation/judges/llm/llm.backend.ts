import { judgeBackendOf, type JudgeDefinition, type ScoringSubject } from '../../scorers';
import type { SendingEndpoint } from '../calls/judge-endpoint';
import { PromptError, type JudgeBackend, type JudgeRequest } from '../judge-backend';
import { dataBlock, delimitersOf, type KeyedHash } from '../prompt/data-block';
import { BYTES_PER_TOKEN, judgePrompt } from '../prompt/judge-prompt';
import { answerSchema } from './judge-answer';
import type { ChatFeaturesRepository } from './chat-features.repository';
import type { ChatQuestion } from './chat-request';
import { instructionsOf } from './instructions';
import { CORRECTION_BYTES, LlmRequest, type TokenPrices } from './llm.request';

/** The operator's settings for the judge's model. */
export interface LlmSettings {
  /** The default model. */
  model: string;
  /** The default model is the only one, whatever a scorer names. */
  isFixed?: boolean;
  /** Identifies the server, so that cached answers of another one are not used. */
  baseUrl: string;
  /** Tokens of a request and its answer together, at most. */
  contextTokens: number;
  /** Tokens of an answer, including the model's reasoning, at most. */
  maxTokens: number;
}

/** Purpose of the derived key for the delimiters of data, see `data-block.ts`. */
export const DELIMITER_PURPOSE = 'judge data delimiter';

/** Tokens that a server may add to messages by itself. */
const OVERHEAD_TOKENS = 200;

/** Calls a language model by chat completions (OpenAI's API, which most servers and gateways offer). */
export class LlmBackend implements JudgeBackend {
  constructor(
    private readonly settings: LlmSettings,
    private readonly endpoint: SendingEndpoint,
    private readonly features: ChatFeaturesRepository,
    private readonly hash: KeyedHash,
    private readonly prices: TokenPrices,
  ) {}

  samplesOf({ samples }: JudgeDefinition): number {
    return samples ?? 1;
  }

  isPriced(definition: JudgeDefinition): boolean {
    return this.prices(this.modelOf(definition), 1, 1) !== null;
  }

  async prepare(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest> {
    if (!definition.prompt)
      throw new PromptError(`A judge with the backend ${judgeBackendOf(definition)} needs a prompt.`);
    const question: ChatQuestion = {
      model: this.modelOf(definition),
      output: definition.output,
      withReasoning: definition.reasoning ?? true,
      // a single sample should be reproducible, and several samples should vary
      temperature: definition.temperature ?? (this.samplesOf(definition) === 1 ? 0 : undefined),
      isTemperatureRequired: definition.temperature != null,
      maxTokens: this.settings.maxTokens,
    };
    const pieces = judgePrompt(definition.prompt, subject, this.promptBytes(question));
    const delimiters = delimitersOf(
      this.hash,
      pieces.flatMap((piece) => ('data' in piece ? piece.data : [])),
    );
    const prompt = pieces
      .map((piece) => ('text' in piece ? piece.text : dataBlock(delimiters, piece.data)))
      .join('');
    const instructions = instructionsOf(question.output, question.withReasoning, delimiters);
    return new LlmRequest(
      question,
      [
        { role: 'system', content: instructions },
        { role: 'user', content: prompt },
      ],
      await this.features.of(question.model),
      {
        baseUrl: this.settings.baseUrl,
        endpoint: this.endpoint,
        features: this.features,
        hash: this.hash,
        prices: this.prices,
      },
    );
  }

  private modelOf(definition: JudgeDefinition): string {
    return this.settings.isFixed ? this.settings.model : (definition.model ?? this.settings.model);
  }

  /** Returns the bytes left for a prompt besides the instructions, the schema and the answer. */
  private promptBytes({ output, withReasoning }: ChatQuestion): number {
    const instructions = instructionsOf(output, withReasoning, delimitersOf(this.hash, []));
    const schema = JSON.stringify(answerSchema(output, withReasoning));
    const tokens = this.settings.contextTokens - this.settings.maxTokens - OVERHEAD_TOKENS;
    const reserved = Buffer.byteLength(instructions) + Buffer.byteLength(schema) + CORRECTION_BYTES;
    return tokens * BYTES_PER_TOKEN - reserved;
  }
}
