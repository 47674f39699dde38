import type { ClaimedItem, ItemOutcome, QueueScorer } from '../api/types.cjs';
import { type Context, idOrName } from './resource.js';

/**
 * An answer to a scorer: a thumb or a number, the label of a choice, or an object that has these with a comment or with the
 * answers to several questions.
 */
export type QueueAnswer =
  | boolean
  | number
  | string
  | null
  | { score?: boolean | number | null; label?: string; answers?: Record<string, unknown>; comment?: string };

/** An item that its author has claimed for 15 minutes. */
export interface QueueItem extends ClaimedItem {
  /** What to answer: the scorers of the queue, with their rubrics. */
  scorers: QueueScorer[];
  /** Answers all scorers of the queue, by name. */
  score(answers: Record<string, QueueAnswer>): Promise<ItemOutcome>;
  /** Leaves the item to somebody else. */
  skip(reason: string): Promise<ItemOutcome>;
}

/**
 * The items of an annotation queue that are left for one person: `for await` claims one after the other. A loop that ends
 * early leaves its last item to its author, who gets it again, and to others after 15 minutes.
 */
export class Queue implements AsyncIterable<QueueItem> {
  /**
   * Why the loop has ended: all items are `completed`, the author has `done` all that is left, or others have `claimed` it.
   * Null before.
   */
  reason: 'completed' | 'done' | 'claimed' | null = null;
  /** When the first claim of the others ends, if they have `claimed` the rest. */
  retryAt: string | null = null;

  constructor(
    private readonly context: Context,
    private readonly name: string,
    private readonly author: string | undefined,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<QueueItem> {
    const queue_id = idOrName(this.name);
    const person = this.author === undefined ? {} : { author: this.author };
    for (;;) {
      const claim = await this.context.api.claimAnnotationItem({ queue_id, body: person });
      this.reason = claim.reason;
      this.retryAt = claim.retry_at;
      const { item, scorers } = claim;
      if (!item) return;
      const { item_id } = item;
      let isAnswered = false;
      const answered = (outcome: ItemOutcome): ItemOutcome => {
        isAnswered = true;
        return outcome;
      };
      yield {
        ...item,
        scorers,
        score: async (answers) => {
          const scores = Object.entries(answers).map(([name, answer]) => scoreOf(scorers, name, answer));
          return answered(
            await this.context.api.scoreAnnotationItem({ queue_id, item_id, body: { ...person, scores } }),
          );
        },
        skip: async (reason) =>
          answered(
            await this.context.api.skipAnnotationItem({ queue_id, item_id, body: { ...person, reason } }),
          ),
      };
      // the next claim would give the same item
      if (!isAnswered)
        throw new Error(`Item ${item_id} has no answer. Call score() or skip() before the next item.`);
    }
  }
}

function scoreOf(scorers: QueueScorer[], name: string, answer: QueueAnswer) {
  const scorer = scorers.find((each) => each.name === name || each.scorer_id === name);
  if (!scorer)
    throw new TypeError(
      `${name} is not a scorer of this queue. Its scorers are ${scorers.map((each) => each.name).join(', ')}.`,
    );
  const members =
    typeof answer === 'string' ? { label: answer } : isPlain(answer) ? { score: answer } : answer;
  return { scorer_id: scorer.scorer_id, ...members };
}

const isPlain = (answer: Exclude<QueueAnswer, string>): answer is boolean | number | null =>
  typeof answer !== 'object' || answer === null;
