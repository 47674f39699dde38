import { Injectable } from '@nestjs/common';
import type { Principal, Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { type Page, toPage } from '#platform/paging';
import { type FieldError, Problem, problem, orNotFound } from '#platform/problem';
import { pick } from '../../resources';
import { type PinnedScorerRow, ScorerRepository } from '../scorers';
import { type CheckedScore, ScoreService } from '../scores';
import { SubjectBuilder } from '../scoring';
import {
  type AnnotationItemDto,
  type AnnotationItemListQueryDto,
  type AnnotatorDto,
  type AnnotatorListQueryDto,
  type AnsweredScoreDto,
  type ClaimedItemDto,
  type ItemScoreDto,
  type ItemOutcomeDto,
  type ClaimResponseDto,
  type ClaimItemDto,
  type ScoreItemDto,
  type SkipItemDto,
  toAnnotationItemDto,
  toAnnotatorDto,
  toQueueScorerDto,
} from './annotation-item.dto';
import type { AnnotationItemRow, Annotator, Claim } from './annotation-item.entity';
import { AnnotationItemRepository, type ItemChange, type Work } from './annotation-item.repository';
import { type AnnotationQueueEntity, pinsOf } from './annotation-queue.entity';
import { AnnotationQueueService } from './annotation-queue.service';

/** How long a claim lasts. Asking for the next item renews the claim. */
const LEASE_MS = 15 * 60_000;
/** Maximum number of items of a queue that one account claims at a time, for people whose names it sends. */
const CLAIMS_MAX = 100;
const CLAIMS_RETRY_SECONDS = 60;

const TARGET_DELETED = 'The trace or result of this item is no longer stored. Skip the item.';
const QUEUE_ARCHIVED = 'The queue is archived. Restore it before you work on it.';

/** Lets people claim, score and skip the items of queues. */
@Injectable()
export class AnnotationItemService {
  constructor(
    private readonly database: Database,
    private readonly queues: AnnotationQueueService,
    private readonly items: AnnotationItemRepository,
    private readonly scorers: ScorerRepository,
    private readonly scores: ScoreService,
    private readonly subjects: SubjectBuilder,
  ) {}

  /**
   * Claims the next item for a person for 15 minutes. Asking again renews the claim of an unfinished item, and returns the
   * same item. Errors: 404; 403 for a person who is not assigned, and for the name of another person; 409 for an archived
   * queue or scorer; 429 for an account with too many claims.
   */
  async next(
    scope: Scope,
    queueId: string,
    dto: ClaimItemDto,
    principal: Principal,
  ): Promise<ClaimResponseDto> {
    const by = annotatorOf(scope, dto, principal);
    const queue = await this.openQueue(scope, queueId);
    const scorers = await this.liveScorers(scope, queue);
    const claim = await this.database.transaction((tx) => this.claim(tx, scope, queueId, by));
    const [item, { view: progress }] = await Promise.all([
      claim && this.contentOf(scope, queueId, claim),
      this.queues.get(scope, queueId),
    ]);
    const { item_count, completed_count, in_progress_count, skipped_count } = progress;
    const retryAt = item ? null : await this.items.nextRelease(scope, queueId, by);
    const reason = completed_count === item_count ? 'completed' : retryAt ? 'claimed' : 'done';
    return {
      item,
      reason: item ? null : reason,
      retry_at: retryAt,
      scorers: scorers.map(toQueueScorerDto),
      progress: { item_count, completed_count, in_progress_count, skipped_count },
    };
  }

  /**
   * Stores a person's answers to all scorers of the queue, as human scores, and completes the person's part of the item.
   * Needs no claim if a place of the item is free. Errors: 400 for missing and unknown scorers, and for answers that do not
   * fit; 404; 403 for a person who is not assigned, and for the name of another person; 409 for an archived queue or scorer,
   * an item that the person has scored, one that others have completed or claimed, and a result that was replaced since the
   * claim; 422 for an unknown choice.
   */
  async score(
    scope: Scope,
    queueId: string,
    itemId: string,
    dto: ScoreItemDto,
    principal: Principal,
  ): Promise<ItemOutcomeDto> {
    const work: Work = { queueId, itemId, by: annotatorOf(scope, dto, principal) };
    const queue = await this.openQueue(scope, queueId);
    checkAnswered(queue, dto.scores);
    const item = await this.itemOf(scope, queueId, itemId);
    await this.liveScorers(scope, queue);
    const checked = await this.check(scope, queue, item, dto.scores, work.by);
    return this.database.transaction(async (tx) => {
      const { locked, earlier } = await this.lock(tx, scope, work);
      if (earlier === 'scored') {
        throw problem.conflict(
          'You have already scored this item. To correct a score, record it again with POST /eval/v1/scores.',
        );
      }
      const claimed = await this.items.fill(tx, scope, work);
      if (claimed === undefined) throw problem.conflict(noPlaceReason(locked));
      if (claimed !== null && checked.some(({ row }) => row.result_version !== claimed)) {
        throw problem.conflict(
          'The result was replaced after you claimed the item. Ask for the next item to get the new result.',
        );
      }
      const scores = await this.store(tx, scope, checked);
      await this.items.answer(tx, scope, work, { scoreIds: scoreIdsOf(queue, scores), reason: null });
      await this.count(tx, scope, work, { scored: 1, skipped: earlier === 'skipped' ? -1 : 0 });
      const is_completed = locked.scored_count + 1 >= queue.scores_per_item;
      return { item_id: itemId, outcome: 'scored', is_completed, scores };
    });
  }

  /**
   * Skips an item. The person is not offered it again, but can still score it. Skipping it twice changes nothing. Errors:
   * 404; 403 for a person who is not assigned, and for the name of another person; 409 for an archived queue, an item that
   * the person has scored, and one that is complete.
   */
  async skip(
    scope: Scope,
    queueId: string,
    itemId: string,
    dto: SkipItemDto,
    principal: Principal,
  ): Promise<ItemOutcomeDto> {
    const work: Work = { queueId, itemId, by: annotatorOf(scope, dto, principal) };
    await this.openQueue(scope, queueId);
    await this.itemOf(scope, queueId, itemId);
    return this.database.transaction(async (tx) => {
      const { locked, earlier } = await this.lock(tx, scope, work);
      if (earlier === 'scored') throw problem.conflict('You have already scored this item.');
      const skipped: ItemOutcomeDto = {
        item_id: itemId,
        outcome: 'skipped',
        is_completed: false,
        scores: [],
      };
      if (earlier === 'skipped') return skipped;
      if (locked.item_status === 'completed') throw problem.conflict(noPlaceReason(locked));
      await this.items.release(tx, scope, work);
      await this.items.answer(tx, scope, work, { scoreIds: null, reason: dto.reason });
      await this.count(tx, scope, work, { scored: 0, skipped: 1 });
      return skipped;
    });
  }

  /** Locks an item and the row of a person. Returns the item, and what the person did with it before. */
  private async lock(tx: Tx, scope: Scope, work: Work) {
    const locked = await this.itemOf(scope, work.queueId, work.itemId, tx);
    await this.items.lockAnnotator(tx, scope, work.queueId, work.by);
    return { locked, earlier: await this.items.outcomeOf(tx, scope, work) };
  }

  private async count(tx: Tx, scope: Scope, work: Work, change: ItemChange): Promise<void> {
    if (!(await this.items.count(tx, scope, work, change))) throw problem.conflict(QUEUE_ARCHIVED);
  }

  /** Lists items in the order of work. Errors: 404. */
  async list(
    scope: Scope,
    queueId: string,
    query: AnnotationItemListQueryDto,
  ): Promise<Page<AnnotationItemDto>> {
    await this.queues.find(scope, queueId);
    return toPage(await this.items.list(scope, queueId, query), toAnnotationItemDto);
  }

  /** Lists the people who work on a queue. Errors: 404. */
  async listAnnotators(
    scope: Scope,
    queueId: string,
    query: AnnotatorListQueryDto,
  ): Promise<Page<AnnotatorDto>> {
    await this.queues.find(scope, queueId);
    return toPage(await this.items.listAnnotators(scope, queueId, query), toAnnotatorDto);
  }

  /**
   * Renews the claim of a person, or claims the first free item after the last one, else the first free item of all. Before
   * it finds nothing, it waits for concurrent claims, because a claim that is not committed yet looks like a finished queue. The
   * lock of the person's row keeps concurrent requests of one person from claiming two items.
   */
  private async claim(tx: Tx, scope: Scope, queueId: string, by: Annotator): Promise<Claim | null> {
    const last = await this.items.lockAnnotator(tx, scope, queueId, by);
    const renewed = await this.items.renew(tx, scope, queueId, by, LEASE_MS);
    if (renewed) return renewed;
    // A person has at most one claim of a queue. An account that works for many people could claim all of it.
    if (by.author !== '' && (await this.items.countClaims(tx, scope, queueId, by)) >= CLAIMS_MAX) {
      throw problem.rateLimited(
        `This account has claimed ${CLAIMS_MAX} items of the queue, the maximum at a time. Score or skip some of them first. Unfinished claims end after 15 minutes.`,
        CLAIMS_RETRY_SECONDS,
      );
    }
    const claimAfter = (after: string, locked: 'skip' | 'wait') =>
      this.items.claim(tx, scope, queueId, by, { after, leaseMs: LEASE_MS, locked });
    return (await claimAfter(last, 'skip')) ?? claimAfter('', 'wait');
  }

  /** Reads the content of a claimed item, as scorers see it. */
  private async contentOf(scope: Scope, queueId: string, claim: Claim): Promise<ClaimedItemDto> {
    const { trace_id, session_id, experiment_id, result_id, case_id } = await this.itemOf(
      scope,
      queueId,
      claim.item_id,
    );
    const ids = { trace_id, session_id, case_id, result_id };
    const content = await this.subjects.readContent(scope, {
      ...ids,
      ordinal: 0,
      result_experiment_id: experiment_id,
      result_version: null,
    });
    const values = 'error' in content ? { input: null, output: null, expected: null } : content;
    const content_error = 'error' in content ? content.error : null;
    return { ...pick(claim, ['item_id', 'claimed_until']), ...ids, experiment_id, ...values, content_error };
  }

  /** Checks the answers to the scorers, at most ten. Errors: those of human scores; 409 for a target that was deleted. */
  private async check(
    scope: Scope,
    queue: AnnotationQueueEntity,
    item: AnnotationItemRow,
    scores: readonly ItemScoreDto[],
    by: Annotator,
  ): Promise<CheckedScore[]> {
    const checked: CheckedScore[] = [];
    for (const [index, score] of scores.entries()) {
      const version = queue.scorer_versions[queue.scorer_ids.indexOf(score.scorer_id)]!;
      try {
        checked.push(await this.scores.check(scope, toScoreBody(queue, item, version, score, by)));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        throw error.code === 'not_found'
          ? problem.conflict(TARGET_DELETED)
          : error.withPointerPrefix(`/scores/${index}`);
      }
    }
    return checked;
  }

  private async store(tx: Tx, scope: Scope, checked: readonly CheckedScore[]): Promise<AnsweredScoreDto[]> {
    const scores: AnsweredScoreDto[] = [];
    for (const one of checked) {
      const { score_id, score, label } = await this.scores.store(tx, scope, one);
      scores.push({ scorer_id: one.row.scorer_id!, score_id, score, label });
    }
    return scores;
  }

  /** Returns a queue that the caller may work on. Errors: 404; 403 for a person who is not assigned; 409 if it is archived. */
  private async openQueue(scope: Scope, queueId: string): Promise<AnnotationQueueEntity> {
    const queue = await this.queues.find(scope, queueId);
    if (queue.assignees && !queue.assignees.includes(scope.principalId)) {
      throw problem.forbidden(
        'The queue is assigned to other people. Ask an editor to add you to `assignees`.',
      );
    }
    if (queue.archived_at) throw problem.conflict(QUEUE_ARCHIVED);
    return queue;
  }

  private async itemOf(scope: Scope, queueId: string, itemId: string, tx?: Tx): Promise<AnnotationItemRow> {
    return orNotFound(await this.items.find(scope, queueId, itemId, tx), 'annotation item', itemId);
  }

  /** Returns the scorers of a queue. Errors: 409 if one is archived or deleted. */
  private async liveScorers(scope: Scope, queue: AnnotationQueueEntity): Promise<PinnedScorerRow[]> {
    const scorers = await this.scorers.findPinned(scope, pinsOf(queue));
    const deleted = queue.scorer_ids.find((id) => !scorers.some(({ scorer_id }) => scorer_id === id));
    if (deleted !== undefined) {
      throw problem.conflict(
        `The scorer ${deleted} of this queue was deleted. Archive the queue and create another.`,
      );
    }
    const archived = scorers.find(({ archived_at }) => archived_at !== null);
    if (!archived) return scorers;
    throw problem.conflict(
      `The scorer ${archived.scorer_id} of this queue is archived. Restore it, or archive the queue and create another.`,
    );
  }
}

/**
 * Returns the person who works: the caller or, if it is a service account with the role `admin`, such as another annotation
 * tool, the person whose name it sends. Errors: 403 for the name of another person.
 */
function annotatorOf(
  { principalId, roles }: Scope,
  { author }: { author?: string | null },
  { type }: Principal,
): Annotator {
  if (author == null || author === principalId) return { principalId, author: '' };
  if (type === 'service_account' && roles.has('admin')) return { principalId, author };
  throw problem.accessDenied(
    `\`author\` names another person, but you work as ${principalId}. Omit \`author\`. Only a service account with the role \`admin\` can send the names of other people.`,
  );
}

/** Returns the ids of the scores in the order of the queue's scorers. There must be one for each scorer. */
function scoreIdsOf({ scorer_ids }: AnnotationQueueEntity, scores: readonly AnsweredScoreDto[]): string[] {
  const ids = new Map(scores.map(({ scorer_id, score_id }) => [scorer_id, score_id]));
  return scorer_ids.map((id) => ids.get(id)!);
}

/** Returns why a person cannot work on an item that has no free place. */
const noPlaceReason = ({ item_status }: AnnotationItemRow): string =>
  item_status === 'completed'
    ? 'Others have completed this item. Ask for the next one.'
    : 'Somebody else has claimed the item. If you claimed it with an `author`, send the same `author`. Otherwise, ask for the next one.';

/** Checks that each scorer of the queue is answered exactly once. Errors: 400. */
function checkAnswered({ scorer_ids }: AnnotationQueueEntity, scores: readonly ItemScoreDto[]): void {
  const errors: FieldError[] = [];
  const answered = new Set<string>();
  scores.forEach(({ scorer_id }, index) => {
    const pointer = `/scores/${index}/scorer_id`;
    if (!scorer_ids.includes(scorer_id)) errors.push({ pointer, detail: 'must be a scorer of this queue' });
    else if (answered.has(scorer_id)) errors.push({ pointer, detail: 'must not be answered twice' });
    answered.add(scorer_id);
  });
  const missing = scorer_ids.filter((id) => !answered.has(id));
  if (missing.length > 0) {
    errors.push({
      pointer: '/scores',
      detail: `must answer all scorers of the queue; missing: ${missing.join(', ')}`,
    });
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}

type ScoreBody = Parameters<ScoreService['check']>[1];

/** Converts an answer to a body of `POST /eval/v1/scores`. */
const toScoreBody = (
  queue: AnnotationQueueEntity,
  item: AnnotationItemRow,
  scorer_version: number,
  { scorer_id, label, score, answers, comment }: ItemScoreDto,
  { author }: Annotator,
): ScoreBody => ({
  scorer_id,
  scorer_version,
  ...(item.result_id === null ? { trace_id: item.trace_id } : { result_id: item.result_id }),
  label,
  score,
  answers,
  comment,
  author: author || null,
  metadata: { queue_id: queue.queue_id, item_id: item.item_id },
});
