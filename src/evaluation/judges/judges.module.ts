import { Module } from '@nestjs/common';
import { MetricsModule } from '#platform/metrics';
import { SecretsModule } from '#platform/secrets';
import { CallsModule } from '../../model-gateway';
import { TelemetryModule } from '../../telemetry';
import { JudgeBackends } from './judge-backends';
import { JudgeMetrics } from './judge-endpoint';
import { JudgeLimits } from './judge-limit';
import { JudgeRepository } from './judge.repository';
import { JudgeService } from './judge.service';

/** Judges: sends requests to them, keeps to their rate limits and caches their answers. */
@Module({
  imports: [CallsModule, MetricsModule, SecretsModule, TelemetryModule],
  providers: [JudgeBackends, JudgeLimits, JudgeMetrics, JudgeRepository, JudgeService],
  exports: [JudgeBackends, JudgeRepository, JudgeService],
})
export class JudgesModule {}
