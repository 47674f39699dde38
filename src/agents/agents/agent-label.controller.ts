import { Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { LabelController } from '../../resources';
import { AgentDto } from './agent.dto';
import { AgentService } from './agent.service';

@ApiTags('Agents')
@Controller('agent/v1/agents/:agent_id/labels')
export class AgentLabelController extends LabelController({
  param: 'agent_id',
  noun: 'an agent',
  view: AgentDto,
}) {
  constructor(agents: AgentService) {
    super(agents);
  }
}
