"""The three choices and what they are made of: critic, actor, planner."""
