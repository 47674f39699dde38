import { Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { LabelController } from '../../resources';
import { SkillDto } from './skill.dto';
import { SkillService } from './skill.service';

@ApiTags('Skills')
@Controller('skill/v1/skills/:skill_id/labels')
export class SkillLabelController extends LabelController({
  param: 'skill_id',
  noun: 'a skill',
  view: SkillDto,
}) {
  constructor(skills: SkillService) {
    super(skills);
  }
}
