import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ResourcesModule } from '../../resources';
import { ScorersModule } from '../scorers';
import { ScoresModule } from '../scores';
import { ScoringModule } from '../scoring';
import { StatisticsModule } from '../statistics';
import { AnnotationItemRepository } from './annotation-item.repository';
import { AnnotationItemService } from './annotation-item.service';
import { AnnotationQueueEntity } from './annotation-queue.entity';
import { AnnotationQueueRepository } from './annotation-queue.repository';
import { AnnotationQueueService } from './annotation-queue.service';
import { QueueAgreementRepository } from './queue-agreement.repository';
import { QueueAgreementService } from './queue-agreement.service';

/** Annotation queues: traces and results that people score, one item at a time. */
@Module({
  imports: [
    ResourcesModule,
    ScorersModule,
    ScoresModule,
    ScoringModule,
    StatisticsModule,
    TypeOrmModule.forFeature([AnnotationQueueEntity]),
  ],
  providers: [
    AnnotationItemRepository,
    AnnotationItemService,
    AnnotationQueueRepository,
    AnnotationQueueService,
    QueueAgreementRepository,
    QueueAgreementService,
  ],
  exports: [AnnotationItemService, AnnotationQueueService, QueueAgreementService],
})
export class AnnotationQueuesModule {}
