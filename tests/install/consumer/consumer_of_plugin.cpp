// Knows the shared library, and nothing of Holdfast.
#include <iostream>
#include <string>

std::string lock_of_plugin();

int main() { std::cout << lock_of_plugin() << '\n'; }
