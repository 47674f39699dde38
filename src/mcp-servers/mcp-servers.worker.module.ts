import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { ResourcesModule } from '../resources';
import { CheckScheduler } from './servers/checks/check.scheduler';
import { McpServersModule } from './mcp-servers.module';

/** The worker's part of MCP servers: their scheduled checks. */
@Module({ imports: [McpServersModule, JobsWorkerModule, ResourcesModule], providers: [CheckScheduler] })
export class McpServersWorkerModule {}
