import { Module } from '@nestjs/common';
import { AgentLabelController } from './agents/agent-label.controller';
import { AgentController } from './agents/agent.controller';
import { AgentsModule } from './agents.module';
import { MessageController } from './sessions/message.controller';
import { AgentSessionController } from './sessions/session.controller';

/** The routes under /agent/v1. */
@Module({
  imports: [AgentsModule],
  controllers: [AgentController, AgentLabelController, AgentSessionController, MessageController],
})
export class AgentsHttpModule {}
