// Gives the precompiled header of programs a target to belong to.
int main() { return 0; }
