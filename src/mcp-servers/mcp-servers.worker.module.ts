import { Module } from '@nestjs/common';
import { JobsWorkerModule } from '#platform/jobs';
import { ResourcesModule } from '../resources';
import { CheckScheduler } from './checks/check.scheduler';
import { McpServersModule } from './mcp-servers.module';

/** The part of MCP servers in the worker: it checks them. */
@Module({ imports: [McpServersModule, JobsWorkerModule, ResourcesModule], providers: [CheckScheduler] })
export class McpServersWorkerModule {}
