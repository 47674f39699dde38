import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { McpServersModule } from '../mcp-servers';
import { ResourcesModule } from '../resources';
import { SkillsModule } from '../skills';
import { TelemetryModule } from '../telemetry';
import { AgentEntity } from './agents/agent.entity';
import { AgentReferences } from './agents/agent-references';
import { AgentPackager } from './agents/agent.packager';
import { AgentRepository } from './agents/agent.repository';
import { AgentService } from './agents/agent.service';
import { AgentReconcileStep } from './reconcile/agent-reconcile.step';
import { AgentResolver } from './reconcile/agent-resolver';
import { SessionMessageEntity } from './sessions/message.entity';
import { MessageRepository } from './sessions/message.repository';
import { MessageService } from './sessions/message.service';
import { SessionDirectory } from './sessions/session-directory';
import { SessionDirectoryRepository } from './sessions/session-directory.repository';
import { SessionCollectStep, SessionErasureStep } from './sessions/session-erasure.steps';
import { AgentSessionEntity } from './sessions/session.entity';
import { AgentSessionRepository } from './sessions/session.repository';
import { AgentSessionService } from './sessions/session.service';

/** Agents and their sessions, without routes: for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([AgentEntity, AgentSessionEntity, SessionMessageEntity]),
    ResourcesModule,
    TelemetryModule,
    SkillsModule,
    McpServersModule,
  ],
  providers: [
    AgentRepository,
    AgentReferences,
    AgentService,
    AgentPackager,
    AgentResolver,
    AgentReconcileStep,
    AgentSessionRepository,
    AgentSessionService,
    MessageRepository,
    MessageService,
    SessionDirectoryRepository,
    SessionDirectory,
    SessionCollectStep,
    SessionErasureStep,
  ],
  exports: [AgentService, AgentSessionService, MessageService, SessionDirectory],
})
export class AgentsModule {}
