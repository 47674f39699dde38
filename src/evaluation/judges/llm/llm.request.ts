import { createHash } from 'node:crypto';
import { cutText, MAX_ERROR_LENGTH } from '../../scorers/engine/limits';
import type { JudgeEndpoint } from '../calls/judge-endpoint';
import type { JudgeCall, Judgement, JudgeRequest } from '../judge-backend';
import { JudgeFailure } from '../judge-failure';
import { dataBlock, delimitersOf, type KeyedHash } from '../prompt/data-block';
import { BYTES_PER_TOKEN } from '../prompt/judge-prompt';
import { cutMiddle } from '../prompt/middle-cut';
import { type ReadAnswer, readAnswerText, UnreadableAnswer } from './answer.reader';
import { type ChatAnswer, readChatAnswer } from './chat-answer';
import type { KnownFeatures } from './chat-features';
import {
  ALL_FEATURES,
  chatBody,
  type ChatFeatures,
  type ChatMessage,
  type ChatQuestion,
  withoutRefused,
} from './chat-request';
import type { TokenPrices } from './llm.backend';
import { probabilitiesOf } from './token-probabilities';

/** Of an answer that cannot be read, so many bytes are shown to the judge again. */
const SHOWN_ANSWER_BYTES = 4_000;
/** What the complaint about it takes at most, with the fault and the words around. */
export const COMPLAINT_BYTES = SHOWN_ANSWER_BYTES + 3 * MAX_ERROR_LENGTH + 1_000;
/** Characters of what a judge says of itself that an error repeats. */
const QUOTED_MAX = 300;

interface Means {
  endpoint: JudgeEndpoint;
  features: KnownFeatures;
  hash: KeyedHash;
  prices: TokenPrices;
}

/** A request that was answered. */
interface Sent {
  answer: ChatAnswer;
  /** What the server took. */
  features: ChatFeatures;
  sha256: string;
}

/** One request for a chat completion; an answer that cannot be read is asked for once more, and the fault is named. */
export class LlmRequest implements JudgeRequest {
  readonly body: string;
  readonly sha256: string;
  readonly questionSha256: string;

  constructor(
    private readonly question: ChatQuestion,
    private readonly messages: readonly ChatMessage[],
    private readonly features: ChatFeatures,
    private readonly means: Means,
  ) {
    this.body = chatBody(question, messages, features);
    this.sha256 = sha256Of(this.body);
    this.questionSha256 = sha256Of(chatBody(question, messages, ALL_FEATURES));
  }

  async ask(call: JudgeCall): Promise<Judgement> {
    const bill = new Bill(this.question, this.means.prices, call);
    const first = await this.send(this.messages, this.features, bill, call);
    try {
      return this.judgement(first, bill);
    } catch (fault) {
      if (!(fault instanceof UnreadableAnswer)) throw fault;
      return this.askAgain(first, fault, bill, call);
    }
  }

  /** Tells the judge that its answer cannot be read. The request that is told of is the first, which anybody can preview. */
  private async askAgain(
    first: Sent,
    fault: UnreadableAnswer,
    bill: Bill,
    call: JudgeCall,
  ): Promise<Judgement> {
    const { sha256 } = first;
    try {
      const again = [...this.messages, this.complaint(first.answer, fault)];
      const second = await this.send(again, first.features, bill, call);
      return this.judgement({ ...second, sha256 }, bill);
    } catch (error) {
      if (error instanceof JudgeFailure) throw new JudgeFailure(error.message, sha256);
      if (!(error instanceof UnreadableAnswer)) throw error;
      const message = `The judge's answer cannot be read, nor the one that it gave when it was told so: ${error.message}.`;
      throw new JudgeFailure(cutText(message, QUOTED_MAX * 2), sha256);
    }
  }

  /** Sends messages, with ever less of what the server may not take, until it takes them. */
  private async send(
    messages: readonly ChatMessage[],
    known: ChatFeatures,
    bill: Bill,
    call: JudgeCall,
  ): Promise<Sent> {
    const { model, isTemperatureAskedFor } = this.question;
    let isOfServer = true;
    for (let features = known; ;) {
      const body = chatBody(this.question, messages, features);
      const reply = await this.means.endpoint.post(model, body, call, (lost) => bill.lose(body, lost));
      if ('refusal' in reply) {
        const fewer = reply.isOfRequest
          ? withoutRefused(features, reply.refusal, isTemperatureAskedFor)
          : undefined;
        if (!fewer) throw new JudgeFailure(reply.error);
        features = fewer.features;
        isOfServer &&= fewer.isOfServer;
        continue;
      }
      if (features !== known && isOfServer) await this.means.features.learn(model, features);
      const answer = readChatAnswer(reply.value);
      if (!answer) {
        bill.lose(body, 'whole');
        throw new JudgeFailure('The judge answered with something else than a chat completion.');
      }
      bill.add(answer, body);
      return { answer, features, sha256: sha256Of(body) };
    }
  }

  private judgement({ answer, sha256 }: Sent, bill: Bill): Judgement {
    const { refusal, finishReason, text, logprobs, model } = answer;
    if (refusal !== undefined || finishReason === 'content_filter') {
      const why = refusal === undefined ? 'its server filtered the answer' : cutText(refusal, QUOTED_MAX);
      throw new JudgeFailure(`The judge would not answer: ${why}`, sha256);
    }
    const read = this.read(answer);
    const probabilities = probabilitiesOf(this.question.output, text, logprobs);
    const { costUsd } = bill;
    return {
      ...read,
      ...(probabilities && { probabilities }),
      ...(model !== undefined && { model: cutText(model, 255) }),
      ...(costUsd !== undefined && { costUsd }),
      requestSha256: sha256,
    };
  }

  private read({ text, finishReason }: ChatAnswer): ReadAnswer {
    try {
      return readAnswerText(this.question.output, text);
    } catch (error) {
      if (!(error instanceof UnreadableAnswer) || finishReason !== 'length') throw error;
      throw new UnreadableAnswer(
        `it was cut off, because it was longer than ${this.question.maxTokens} tokens`,
      );
    }
  }

  /** What the judge is told of an answer that cannot be read. It may repeat what is judged, so it is data like that. */
  private complaint({ text }: ChatAnswer, { message }: UnreadableAnswer): ChatMessage {
    const shown = [cutMiddle(text, SHOWN_ANSWER_BYTES), message];
    const delimiters = delimitersOf(this.means.hash, shown);
    const [given, fault] = shown.map((one) => dataBlock(delimiters, one));
    return {
      role: 'user',
      content: `This is what you answered, as data:\n${given}\nIt cannot be read. Why, also as data:\n${fault}\nAnswer again, with nothing but the JSON object that you were asked for, and briefly.`,
    };
  }
}

/** What the requests for one judgement cost together, each charged to the call as soon as it is known. */
class Bill {
  private sum: number | undefined;

  constructor(
    private readonly question: Pick<ChatQuestion, 'model' | 'maxTokens'>,
    private readonly prices: TokenPrices,
    private readonly call: Pick<JudgeCall, 'charge'>,
  ) {}

  /** In US dollars; undefined where nothing is known. */
  get costUsd(): number | undefined {
    return this.sum;
  }

  /** Tokens that the server does not tell are estimated, because a budget that counted none would never end. */
  add({ costUsd, inputTokens, outputTokens, model, text }: ChatAnswer, body: string): void {
    const input = inputTokens ?? tokensOf(body);
    const output = outputTokens ?? tokensOf(text);
    this.charge(
      costUsd ??
        this.prices(this.question.model, input, output) ??
        (model === undefined ? null : this.prices(model, input, output)),
    );
  }

  /** Of an answer that was lost: what was sent, and of one that came as a whole all that it may have. */
  lose(body: string, lost: 'whole' | 'part'): void {
    const { model, maxTokens } = this.question;
    this.charge(this.prices(model, tokensOf(body), lost === 'whole' ? maxTokens : 0));
  }

  private charge(costUsd: number | null): void {
    if (costUsd === null) return;
    this.sum = (this.sum ?? 0) + costUsd;
    this.call.charge(costUsd);
  }
}

const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');
