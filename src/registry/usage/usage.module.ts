import { Module } from '@nestjs/common';
import { StorageModule } from '#platform/storage';
import { SpanQuota } from './span-quota';
import { SpanUsageRepository } from './span-usage.repository';

/** The quotas of organizations. */
@Module({
  imports: [StorageModule],
  providers: [SpanQuota, SpanUsageRepository],
  exports: [SpanQuota, StorageModule],
})
export class UsageModule {}
