import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ResourcesModule } from '../../src/resources';
import { ChecklistItemController } from './checklist-item.controller';
import { ChecklistItemEntity } from './checklist-item.entity';
import { ChecklistItemRepository } from './checklist-item.repository';
import { ChecklistItemService } from './checklist-item.service';

@Module({
  imports: [TypeOrmModule.forFeature([ChecklistItemEntity]), ResourcesModule],
  controllers: [ChecklistItemController],
  providers: [ChecklistItemRepository, ChecklistItemService],
})
export class ChecklistModule {}
