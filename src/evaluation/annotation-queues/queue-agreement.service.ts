import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { ScorerRepository } from '../scorers';
import { AnalysisThreads, type AnnotatorRating } from '../statistics';
import { pinsOf } from './annotation-queue.entity';
import { AnnotationQueueService } from './annotation-queue.service';
import type { QueueAgreementDto, QueueScorerAgreementDto } from './queue-agreement.dto';
import { QueueAgreementRepository, type RatingRow } from './queue-agreement.repository';

/** Maximum number of scores read, divided equally among the scorers. */
const SCORES_MAX = 100_000;

/** Measures how well the annotators of a queue agree. */
@Injectable()
export class QueueAgreementService {
  constructor(
    private readonly queues: AnnotationQueueService,
    private readonly scores: QueueAgreementRepository,
    private readonly scorers: ScorerRepository,
    private readonly threads: AnalysisThreads,
  ) {}

  /**
   * Measures the agreement on each scorer of a queue. Errors: 404; 503 if too many computations wait.
   *
   * @param signal aborts the computation
   */
  async agreement(scope: Scope, queueId: string, signal: AbortSignal): Promise<QueueAgreementDto> {
    const queue = await this.queues.find(scope, queueId);
    const scorers = await this.scorers.findPinned(scope, pinsOf(queue));
    return this.threads.reserve(scope, signal, async (runTask) => {
      const most = Math.floor(SCORES_MAX / scorers.length);
      const measured: QueueScorerAgreementDto[] = [];
      let is_truncated = false;
      // One scorer at a time, so that only its scores are in memory.
      for (const [index, { scorer_id, scorer_version, name }] of scorers.entries()) {
        const rows = await this.scores.ratings(scope, queueId, index, most + 1);
        is_truncated ||= rows.length > most;
        const measures = await runTask('measureAnnotators', {
          id: scorer_id,
          units: unitsOf(rows.slice(0, most)),
        });
        measured.push({ scorer_id, scorer_version, name, ...measures });
      }
      return { queue_id: queueId, scorers: measured, is_truncated };
    });
  }
}

/** Groups the scores of one scorer by item. */
function unitsOf(rows: readonly RatingRow[]): AnnotatorRating[][] {
  const units = new Map<string, AnnotatorRating[]>();
  for (const { item_id, score, label } of rows) {
    if (score === null) continue;
    const unit = units.get(item_id);
    if (unit) unit.push({ score, label });
    else units.set(item_id, [{ score, label }]);
  }
  return [...units.values()];
}
