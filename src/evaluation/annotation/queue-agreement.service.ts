import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { AnalysisPool, toMeasure } from '../analysis';
import { ScorerRepository } from '../scorers';
import { AnnotationItemRepository, type RatingRow } from './annotation-item.repository';
import { pinsOf } from './annotation-queue.entity';
import { AnnotationQueueService } from './annotation-queue.service';
import type { QueueAgreementDto, QueueScorerAgreementDto } from './queue-agreement.dto';

/** Answers read, at most. */
const ANSWERS_MAX = 100_000;

/** Measures how well the annotators of a queue agree. */
@Injectable()
export class QueueAgreementService {
  constructor(
    private readonly queues: AnnotationQueueService,
    private readonly items: AnnotationItemRepository,
    private readonly scorers: ScorerRepository,
    private readonly pool: AnalysisPool,
  ) {}

  /** Errors: 404; 503 if too many computations wait. @param signal ends the computation */
  async agreement(scope: Scope, queueId: string, signal: AbortSignal): Promise<QueueAgreementDto> {
    const queue = await this.queues.find(scope, queueId);
    const scorers = await this.scorers.findPinned(scope, pinsOf(queue));
    return this.pool.reserve(scope, signal, async (runTask) => {
      const rows = await this.items.ratings(scope, queueId, ANSWERS_MAX + 1);
      const measured: QueueScorerAgreementDto[] = [];
      for (const { scorer_id, scorer_version, name } of scorers) {
        const { units, ...measures } = await runTask('measureAnnotators', {
          id: scorer_id,
          units: unitsOf(rows.filter((row) => row.scorer_id === scorer_id)),
        });
        measured.push({
          scorer_id,
          scorer_version,
          name,
          units,
          observed_agreement: toMeasure(measures.observedAgreement),
          krippendorffs_alpha_nominal: toMeasure(measures.nominalAlpha),
          krippendorffs_alpha_interval: toMeasure(measures.intervalAlpha),
        });
      }
      const answers = rows.length / Math.max(1, scorers.length);
      return { queue_id: queueId, scorers: measured, is_truncated: answers > ANSWERS_MAX };
    });
  }
}

/** Groups the ratings of one scorer by item. Rows of one item are adjacent. */
function unitsOf(rows: readonly RatingRow[]): RatingRow[][] {
  const units = new Map<string, RatingRow[]>();
  for (const row of rows) {
    const unit = units.get(row.item_id);
    if (unit) unit.push(row);
    else units.set(row.item_id, [row]);
  }
  return [...units.values()];
}
