import { Module } from '@nestjs/common';
import { MetricsModule } from '#platform/metrics';
import { SecretsModule } from '#platform/secrets';
import { ModelGatewayModule } from '../../model-gateway';
import { TelemetryModule } from '../../telemetry';
import { JudgeBackends } from './judge-backends';
import { JudgeCaller, JudgeMetrics } from './judge-caller';
import { JudgeRepository } from './judge.repository';
import { JudgeService } from './judge.service';

/** Judges: builds requests to them, and caches their answers. */
@Module({
  imports: [MetricsModule, ModelGatewayModule, SecretsModule, TelemetryModule],
  providers: [JudgeBackends, JudgeCaller, JudgeMetrics, JudgeRepository, JudgeService],
  exports: [JudgeBackends, JudgeRepository, JudgeService],
})
export class JudgesModule {}
