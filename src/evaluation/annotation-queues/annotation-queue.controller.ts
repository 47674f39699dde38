import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, RequireRole, RequireWorkspace, type Scope } from '#platform/auth';
import { created, IfMatch, type Reply, RequestSignal, type Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { Throws } from '#platform/problem';
import { CreatesNamed, CreationQueryDto, LifecycleController } from '../../resources';
import {
  AnnotationQueueDto,
  AnnotationQueueListQueryDto,
  AnnotationQueuePageDto,
  CreateAnnotationQueueDto,
  PatchAnnotationQueueDto,
} from './annotation-queue.dto';
import { AnnotationQueueService } from './annotation-queue.service';
import { QueueAgreementDto } from './queue-agreement.dto';
import { QueueAgreementService } from './queue-agreement.service';

@ApiTags('Annotation queues')
@Controller('eval/v1/annotation-queues')
@RequireWorkspace()
export class AnnotationQueueController extends LifecycleController({
  param: 'queue_id',
  view: AnnotationQueueDto,
  access: RequireRole('evaluator'),
  archive: {
    summary: 'Archive an annotation queue',
    description: 'Nobody can work on an archived queue. Its items, answers and scores are kept.',
  },
  restore: { summary: 'Restore an archived annotation queue' },
  delete: { summary: 'Delete an archived annotation queue', access: RequireRole('admin') },
}) {
  constructor(
    private readonly queues: AnnotationQueueService,
    private readonly agreements: QueueAgreementService,
  ) {
    super(queues);
  }

  /**
   * Create an annotation queue
   *
   * @remarks Selects the items once: later traces and results do not join the queue. Returns 422 with the count if the source selects no items, or more than 10,000 without a `limit`.
   */
  @Post()
  @Throws('not_found', 'validation_failed')
  @RequireRole('editor')
  @CreatesNamed(AnnotationQueueDto)
  async create(
    @CurrentScope() scope: Scope,
    @Body() dto: CreateAnnotationQueueDto,
    @Query() { on_conflict }: CreationQueryDto,
    @RequestSignal() signal: AbortSignal,
  ): Promise<Reply> {
    const queue = await this.queues.create(scope, dto, signal, on_conflict);
    return created(`/eval/v1/annotation-queues/${queue.view.queue_id}`, queue);
  }

  /** List annotation queues */
  @Get()
  @RequireRole('viewer')
  @ApiOkResponse({ type: AnnotationQueuePageDto })
  list(
    @CurrentScope() scope: Scope,
    @Query() query: AnnotationQueueListQueryDto,
  ): Promise<Page<AnnotationQueueDto>> {
    return this.queues.list(scope, query);
  }

  /** Get an annotation queue and its progress */
  @Get(':queue_id')
  @RequireRole('viewer')
  @ApiOkResponse({ type: AnnotationQueueDto })
  get(@CurrentScope() scope: Scope, @Param('queue_id') id: string): Promise<Versioned<AnnotationQueueDto>> {
    return this.queues.get(scope, id);
  }

  /** Change an annotation queue */
  @Patch(':queue_id')
  @RequireRole('editor')
  @ApiOkResponse({ type: AnnotationQueueDto })
  patch(
    @CurrentScope() scope: Scope,
    @Param('queue_id') id: string,
    @Body() dto: PatchAnnotationQueueDto,
    @IfMatch() ifMatch?: string,
  ): Promise<Versioned<AnnotationQueueDto>> {
    return this.queues.patch(scope, id, dto, ifMatch);
  }

  /** Measure the agreement of the annotators of a queue */
  @Get(':queue_id/agreement')
  @RequireRole('viewer')
  @ApiOkResponse({ type: QueueAgreementDto })
  agreement(
    @CurrentScope() scope: Scope,
    @Param('queue_id') id: string,
    @RequestSignal() signal: AbortSignal,
  ): Promise<QueueAgreementDto> {
    return this.agreements.agreement(scope, id, signal);
  }
}
